import { phrases, type WordList } from './lists.ts';

/** French: with `NOMOS_LANGUAGES=fr`. "si" is "if" here and never yes. */
export const fr: WordList = {
  yes: phrases(`
    oui | ouais | ouai | ouaip | ouep | ouip | mouais oui | oui oui | bien sûr | bien sur | mais oui | oui bien sûr | évidemment | volontiers | avec plaisir | carrément | absolument | tout à fait | certainement | affirmatif | yes | go
    | vas-y | vas y | vasy | va-y | allez-y | allez y | allons-y | allons y | on y va | c'est parti | c parti | tu peux y aller | vous pouvez y aller | envoie | envoyez | fonce | feu vert | tu as le feu vert
    | fais-le | fais le | fais ça | fais ca | faites-le | faites le | faites | faites ça | on le fait | fais donc | lance | lance-le | lance le | lance ça | lance la commande | lancez | lancez-le | exécute | exécute-le | exécute le | exécutez | applique | applique-le | appliquez
    | procède | procédez | procéder | continue | continuez | poursuis | poursuivez
    | approuvé | approuve | j'approuve | autorisé | autorise | j'autorise | accordé | validé | valide | je valide | c'est validé | accepté | j'accepte | je suis d'accord | permission accordée
    | ça me va | ca me va | ça marche pour moi | ça me convient | bonne idée | ça roule
  `),
  ok: phrases(
    "d'accord | d accord | dac | dacc | d'acc | okay | c'est bon | c bon | ça marche | ca marche | soit",
  ),
  confirm: phrases(
    'je confirme | oui je confirme | je le confirme | je la confirme | je confirme bien',
  ),
  confirmAlone: phrases('confirmé | confirmée'),
  no: phrases(`
    non | nan | nope | pas | ne | n' | jamais | rien | aucun | aucune | ni | sans | personne | pas encore | pas maintenant | pas question | surtout pas | hors de question | pas du tout | mais non
    | attends | attendez | attend | attendre | attendons | un instant | un moment | une minute | une seconde | deux minutes | minute | patiente | patientez | arrête | arrêtez | arrêter | arrêtons | stop | stoppe | stoppez | halte
    | annule | annulez | annuler | annulé | abandonne | abandonner | laisse tomber | laisse | laissez | oublie | oubliez | refuse | refusé | je refuse | refuser | rejeté | rejette | rejeter | interdit | plus tard | négatif | retire | révoque | reporte | suspends
  `),
  denialOpeners: phrases(
    "s'il te plaît ne | s'il te plaît arrête | stp ne | stp arrête | stp attends | merci de ne | je ne veux pas | désolé non",
  ),
  partial: phrases(`
    mais | sauf | seulement | uniquement | juste | excepté | hormis | plutôt | au lieu | sinon | ou | cependant | toutefois | premier | première | premiers | deuxième | second | seconde | troisième | dernier | dernière | deux | trois | moitié | partie | partiellement | certains | certaines | reste | autre | autres | suivant | suivante | prochain | au moins | d'abord | à blanc
  `),
  condition: phrases(`
    si | s' | quand | lorsque | dès | dès que | après | apres | avant | une fois | une fois que | tant que | à moins | pourvu | à condition | jusqu'à | demain | aujourd'hui | ce soir | cet après-midi | cette nuit | bientôt | tout à l'heure | lundi | mardi | mercredi | jeudi | vendredi | samedi | dimanche | heure | heures | minutes | peut-être | peut être | sans doute | probablement | je pense | je crois | ça dépend | on verra | je suppose
  `),
  asks: phrases(
    "quoi | que | qu' | qu'est | est-ce | est ce | pourquoi | comment | quand | où | qui | quel | quelle | quels | quelles | dois-je | dois je | faut-il | peux-tu | peux tu | peut-on | pouvez-vous | puis-je | as-tu | es-tu | combien | c'est quoi | tu peux | tu es sûr",
  ),
  filler: phrases(`
    s'il te plaît | s'il te plait | pour moi | s'il vous plaît | s'il vous plait | stp | svp | salut | bonjour | bonsoir | coucou | alors | donc | maintenant | tout de suite | immédiatement | vite | puis | là | ah | oh | euh | hum | bon alors | allez | chef | mon ami | comme prévu | comme proposé | je suis sûr | je suis sûre | voilà | sans souci | ok
  `),
  permit: phrases('vous pouvez'),
  notDenials: phrases(
    'pas de problème | pas de souci | pas de soucis | pas sûr | pas sûre | aucun problème | aucun souci | aucune idée | je ne sais pas | ne sais pas | pas mal',
  ),
  thanks: phrases(
    'bon | bien | très bien | entendu | parfait | super | génial | excellent | nickel | top | impeccable | exactement | très bonne idée | compris | merci | merci beaucoup | merci bien | mille mercis | je te remercie',
  ),
  report: phrases(
    "dis-moi quand c'est fini | dis moi quand c'est fini | préviens-moi | préviens moi | préviens-moi quand c'est fini | tiens-moi au courant | tiens moi au courant | tenez-moi au courant",
  ),
  object: phrases(
    "le | la | les | l' | ce | cet | cette | ces | ça | ca | cela | ceci | et | avec | moi | plan | commande | commandes | étape | étapes | changement | changements | modification | proposition | tâche | action",
  ),
  preposition: phrases("de | pour | du | d' | sur | dans | en | à | au | aux"),
  noun: phrases(
    'conteneur | conteneurs | container | serveur | serveurs | service | services | machine | machines | base de données | bases de données | table | configuration | paquet | paquets | disque | disques | volume | grappe | noeud | nœud | noeuds | pare-feu | règle | règles | certificat | certificats | utilisateur | dossier | fichier | fichiers | système',
  ),
  action: {
    restart: phrases(
      'redémarrage | redémarrer | redémarre | redémarrez | relance | relancer | recharge | recharger',
    ),
    shutdown: phrases('éteindre | éteins | extinction'),
    start: phrases('démarrer | démarre | démarrage'),
    upgrade: phrases(
      'mise à jour | mises à jour | mettre à jour | mets à jour | màj | maj | actualiser',
    ),
    install: phrases('installation | installer | installe | installez'),
    delete: phrases(
      'suppression | supprimer | supprime | supprimez | effacer | efface | effacement | destruction | détruire | détruis | formater | nettoyage | nettoyer',
    ),
    create: phrases('créer | crée | création | ajouter | ajoute'),
    deploy: phrases('déployer | déploie | déploiement'),
    move: phrases('déplacer | déplace | migrer | migre | migration | renommer | copier'),
    resize: phrases('agrandir | réduire | redimensionner'),
    backup: phrases('sauvegarde | sauvegarder'),
    restore: phrases('restaurer | restaure | restauration'),
    enable: phrases('activer | active'),
    disable: phrases('désactiver | désactive'),
    change: phrases(
      'modifier | modifie | changer | change | éditer | réparer | répare | remplacer | remplace | renouveler | configurer',
    ),
  },
  all: phrases('tout | tous | toutes | tout ça | tout le plan | le plan entier | tous ensemble'),
  count: {
    'les deux': 2,
    'tous les deux': 2,
    'les trois': 3,
    'tous les trois': 3,
    'les quatre': 4,
  },
  statement: phrases(
    "que | qu' | est | sont | était | a | ai | as | ont | c'est | fonctionne | marche | fini | terminé | échoué | réception | reçu | lecture | présence | dit | plein | vide | je | tu | il | nous",
  ),
};
