import { phrases, type WordList } from './lists.ts';

/** German: with `NOMOS_LANGUAGES=de`. */
export const de: WordList = {
  yes: phrases(`
    ja | jaa | ja bitte | jo | joa | jep | jepp | jap | japp | jup | jupp | jawohl | jawoll | klar | na klar | aber klar | klar doch | ja klar | sicher | aber sicher | natürlich | aber natürlich | selbstverständlich | gerne | gern | sehr gerne
    | mach | mach mal | mach das | mach es | mach's | machs | mach ruhig | mach das so | mach es so | mach bitte | bitte machen | so machen | mach weiter | machen | machen wir | macht das | mahc das | mach das mal | kannste machen | kannst machen
    | tu es | tu das | tus | los | leg los | los geht's | los gehts | auf geht's | auf gehts | ab dafür | kann losgehen | lass uns das machen | lass laufen | ausführen | führ es aus | führ das aus | bitte ausführen | starte es
    | weiter | weitermachen | weiter machen | fortfahren | fahr fort | bitte fortfahren
    | passt | das passt | passt so | passt für mich | passt mir | klingt gut | hört sich gut an | sieht gut aus | gute idee | gefällt mir
    | einverstanden | genehmigt | ich genehmige | ich genehmige das | genehmige ich | genehmigung erteilt | freigegeben | freigabe | freigabe erteilt | ich gebe frei | gebe ich frei | erlaubt | ich erlaube es | zugestimmt | ich stimme zu | stimme zu | geht klar | grünes licht | du darfst
  `),
  ok: phrases(
    'okay | oki | okidoki | gut | na gut | also gut | ist gut | in ordnung | ist in ordnung | geht in ordnung | ist ok | ist okay | meinetwegen | von mir aus | jut',
  ),
  confirm: phrases(
    'ich bestätige | ich bestaetige | hiermit bestätige ich | hiermit bestaetige ich | bestätige ich | bestaetige ich | ich bestätige das | ich bestaetige das | ich bestätige es | ich bestätige hiermit | das bestätige ich',
  ),
  confirmAlone: phrases('bestätigt | bestaetigt | bestätige | bestaetige'),
  no: phrases(`
    nein | nee | ne | nö | noe | nicht | nich | nix | nichts | nie | niemals | niemand | kein | keine | keinen | keiner | keines | keinem | keinesfalls | keineswegs | auf keinen fall | bloß nicht | lieber nicht | noch nicht | jetzt nicht | doch nicht
    | warte | wart | warten | wartet | abwarten | moment | moment mal | momentchen | einen moment | sekunde | kurz warten | stop | stopp | stoppen | halt | anhalten | abbrechen | abbruch | brich ab | abgebrochen | später | spaeter | nachher
    | lass es | lass das | lass mal | lass gut sein | lass sein | lassen wir | vergiss es | vergiss das | finger weg | ablehnen | abgelehnt | lehne ab | ich lehne ab | verweigert | verweigere | verboten | untersagt | widerrufen | zurückziehen | ohne | weder | unbestätigt | rückgängig | zurück
  `),
  denialOpeners: phrases(
    'bitte nicht | bitte warten | bitte warte | ich will das nicht | ich möchte das nicht | das nicht | mach das nicht | mach es nicht | mach nichts | mach nicht | auf gar keinen | auf keinen fall',
  ),
  partial: phrases(`
    aber | jedoch | allerdings | außer | ausser | ausgenommen | nur | bloß | bloss | lediglich | statt | stattdessen | anstatt | sondern | lieber | oder | erste | ersten | erster | erstes | zweite | zweiten | zweites | dritte | dritten | letzte | letzten | eins | zwei | drei
    | hälfte | teil | teilweise | teils | manche | einige | rest | nächste | nächsten | nächstes | andere | anderen | anders | eines von | zuerst | vorher | wenigstens | mindestens | bis auf | probelauf | testlauf
  `),
  condition: phrases(`
    wenn | falls | sofern | sobald | solange | bevor | nachdem | nach | vor | bis | erst | erst wenn | erst nach | erst mal | ab | um | vorausgesetzt | unter der bedingung | morgen | übermorgen | heute | heute abend | abends | nachts | gleich | bald | demnächst | irgendwann | montag | dienstag | mittwoch | donnerstag | freitag | samstag | sonntag | wochenende
    | vielleicht | eventuell | evtl | womöglich | wahrscheinlich | vermutlich | glaub | glaube | ich glaube | ich denke | mal sehen | mal schauen | weiß nicht | schau | schauen | uhr | stunde | stunden | minute | minuten
  `),
  asks: phrases(
    'was | warum | wieso | weshalb | wie | wann | wo | wer | wen | wem | welche | welcher | welches | soll | sollen | sollte | sollten | kann | können | könnte | könnten | darf | dürfen | ist | sind | hast | hat | habt | haben | bist | muss | müssen | wird | werden | würde | wird das | meinst | willst | weißt | geht das | passt das',
  ),
  filler: phrases(`
    bitte | gern geschehen | ja ja | ja ja ja | hallo | hi | moin | servus | guten morgen | guten tag | guten abend
    | also | so | nun | jetzt | sofort | direkt | umgehend | dann | mal | ruhig | doch | einfach | schnell | hm | hmm | äh | ach | ah | oh | na | wie geplant | wie besprochen | wie vorgeschlagen | ich bin sicher | bin sicher | bin bereit | hiermit | kollege | chef | mein freund
  `),
  permit: phrases('du kannst | kannst du gerne | du darfst gerne'),
  notDenials: phrases(
    'kein problem | keine sorge | keine einwände | kein einwand | keine ahnung | nicht sicher | weiß nicht | nicht schlecht | nicht so schlimm',
  ),
  thanks: phrases(
    'schön | super | prima | perfekt | top | toll | klasse | genau | richtig | sehr gut | alles klar | alles gut | wunderbar | cool | spitze | ausgezeichnet | verstanden | danke | danke dir | danke schön | dankeschön | vielen dank | besten dank | herzlichen dank | merci | thx',
  ),
  report: phrases(
    'sag bescheid | sag mir bescheid | gib bescheid | gib mir bescheid | gib bescheid wenn fertig | sag bescheid wenn fertig | sag bescheid wenn es fertig ist | melde dich | meld dich | meld dich wenn fertig | halt mich auf dem laufenden | und berichte',
  ),
  object: phrases(
    'das | es | der | die | den | dem | des | dies | diese | diesen | dieses | ihn | sie | und | mit | dir | mir | damit | aus | durch | plan | befehl | befehle | schritt | schritte | änderung | änderungen | sache | vorschlag | aufgabe | auftrag | aktion',
  ),
  preposition: phrases('auf | von | vom | im | in | am | an | für | zu | zum | zur'),
  noun: phrases(
    'container | server | dienst | dienste | rechner | maschine | maschinen | kiste | datenbank | datenbanken | tabelle | konfiguration | paket | pakete | platte | datenträger | volume | cluster | knoten | firewall | regel | regeln | zertifikat | zertifikate | nutzer | benutzer | ordner | verzeichnis | datei | dateien | snapshot | system',
  ),
  action: {
    restart: phrases(
      'neustart | neustarten | neu starten | neu laden | starte neu | neugestartet | durchstarten',
    ),
    reboot: phrases('rebooten | reboote'),
    shutdown: phrases(
      'herunterfahren | runterfahren | ausschalten | abschalten | fahr runter | fahr herunter',
    ),
    start: phrases('starten | starte | hochfahren | anschalten | einschalten'),
    upgrade: phrases('aktualisieren | aktualisiere | aktualisierung | updaten | upgraden'),
    install: phrases('installieren | installiere | installation | einrichten | einspielen'),
    delete: phrases(
      'löschen | lösche | loeschen | löschung | loeschung | entfernen | entferne | entfernung | zerstören | zerstörung | vernichten | formatieren | leeren | aufräumen',
    ),
    create: phrases('anlegen | lege an | erstellen | erstelle | erzeugen | hinzufügen'),
    deploy: phrases('ausrollen | deployen | ausliefern'),
    move: phrases(
      'verschieben | verschiebe | migrieren | migriere | umziehen | umbenennen | kopieren',
    ),
    resize: phrases('vergrößern | verkleinern | erweitern'),
    backup: phrases('sichern | sicherung'),
    restore: phrases('wiederherstellen | wiederherstellung | zurückspielen'),
    enable: phrases('aktivieren | aktiviere'),
    disable: phrases('deaktivieren | deaktiviere'),
    change: phrases(
      'ändern | ändere | anpassen | bearbeiten | reparieren | ersetzen | erneuern | konfigurieren',
    ),
  },
  all: phrases(
    'alle | alles | alles davon | den ganzen plan | ganze plan | das ganze | sämtliche | alle davon',
  ),
  count: { beide: 2, beides: 2, 'alle drei': 3, 'alle vier': 4, 'alle zwei': 2 },
  statement: phrases(
    'ist | sind | war | waren | hat | habe | haben | wurde | wird | läuft | lief | ging | geht | funktioniert | fertig | kaputt | voll | leer | erhalt | empfang | dass | daß | ich | du | wir | er | gesagt | sagte',
  ),
};
