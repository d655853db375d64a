import { phrases, type WordList } from './lists.ts';

/**
 * Spanish: with `NOMOS_LANGUAGES=es`. "sí" is yes; "si" is "if" and counts as yes only alone or in
 * the fixed phrases below, because people leave the accent out.
 */
export const es: WordList = {
  yes: phrases(`
    sí | sip | sipi | sep | sí por favor | sí claro | sí señor | si por favor | si porfa | si claro | si señor | si dale | si adelante | si hazlo | si hacelo | si procede | si vale | si ok | si si | sí sí | si gracias | ok si | claro si | que sí | sí dale
    | claro | claro que sí | claro que si | por supuesto | desde luego | obvio | seguro
    | adelante | sigue adelante | dale | dale nomas | dale dale | venga dale | venga adelante | vamos | vamos allá | vamos alla | metele | métele | órale | orale | ándale | andale
    | hazlo | házlo | hágalo | hacelo | hazlo ya | haslo | hagámoslo | ejecútalo | ejecutalo | ejecuta | ejecute | ejecutar | ejecutar todo | lánzalo | lanzalo | aplícalo | aplicalo | córrelo | correlo
    | procede | proceda | procedan | procedamos | proceder | prosigue | prosiga | continúa | continua | continúe | continue | sigue | siga | seguimos
    | aprobado | aprobada | apruebo | lo apruebo | aprobar | autorizado | autorizo | lo autorizo | permitido | concedido | acepto | aceptado | de acuerdo | estoy de acuerdo | conforme | luz verde | tienes permiso | tienes mi permiso
    | me parece bien | me parece perfecto | suena bien | se ve bien | buena idea | afirmativo | a por ello
  `),
  ok: phrases('vale | bueno | está bien | esta bien | va | okey | oka | venga'),
  confirm: phrases(
    'confirmo | yo confirmo | lo confirmo | sí confirmo | si confirmo | yo lo confirmo | la confirmo',
  ),
  confirmAlone: phrases('confirmado | confirmada'),
  no: phrases(`
    no | nop | nope | nunca | jamás | jamas | tampoco | nada | nadie | ninguno | ninguna | ningún | ningun | ni | ni hablar | sin | para nada | de ninguna manera | de eso nada | todavía no | todavia no | aún no | aun no | ahora no | mejor no | claro que no | por supuesto que no | que no
    | espera | espere | espérate | esperate | esperá | esperar | esperemos | aguanta | un momento | un segundo | un minuto | un momentito | momento | detente | detén | deten | detener | detenlo | para ya | páralo | paralo | para eso | alto | alto ahí | quieto | stop | frena
    | cancela | cancelar | cancelado | cancélalo | cancelalo | aborta | abortar | rechazo | rechazado | rechaza | rechazar | deniego | denegado | niego | prohibido | niega | negativo | después | despues | más tarde | mas tarde | déjalo | dejalo | olvídalo | olvidalo | olvida | sáltatelo | salta | anula | anular | revoca | deshaz | deshacer | retiro
  `),
  denialOpeners: phrases(
    'por favor no | porfa no | mejor no | mejor espera | creo que no | yo no | lo siento no | perdón no',
  ),
  partial: phrases(`
    pero | solo | sólo | solamente | únicamente | unicamente | nomás | excepto | salvo | menos | aparte de | en vez | en lugar | sino | aunque | sin embargo | o | u | primero | primera | primer | segundo | segunda | tercero | tercera | último | ultimo | última | ultima | uno | dos | tres | mitad | parte | parcialmente | algunos | algunas | alguno | resto | otro | otra | otros | otras | siguiente | anterior | al menos | por lo menos | de prueba
  `),
  condition: phrases(`
    si | cuando | luego | después de | despues de | antes | antes de | hasta | hasta que | a menos que | siempre que | siempre y cuando | una vez | una vez que | en cuanto | mientras | con tal | depende | mañana | manana | hoy | esta noche | esta tarde | pronto | lunes | martes | miércoles | miercoles | jueves | viernes | sábado | domingo | a las | hora | horas | minutos | quizá | quizás | quizas | tal vez | a lo mejor | puede ser | puede que | creo | supongo | veremos | ya veremos | a ver | igual
  `),
  asks: phrases(
    'qué | que | por qué | por que | cómo | como | dónde | donde | quién | quien | cuál | cual | debo | debería | deberia | puedo | puedes | puedes hacerlo | podemos | podrías | podrias | puede | es | está | estás | estas seguro | hay | has | ha | tengo que | seguro que',
  ),
  filler: phrases(`
    por favor | porfa | porfis | porfavor | pf | plis | hola | buenas | buenos días | buenos dias | buenas tardes | entonces | pues | ya | ahora | ahora mismo | ya mismo | inmediatamente | de una | de una vez | enseguida | amigo | jefe | tío | tio | che | hombre | eh | ah | oh | mm | como dijiste | como propones | según lo planeado | estoy seguro | estoy segura | con gusto | con confianza | tranquilo
  `),
  permit: phrases('tú puedes'),
  notDenials: phrases(
    'no hay problema | no problema | no pasa nada | no sé | no se | no estoy seguro | no estoy segura | no es que | no hay prisa',
  ),
  thanks: phrases(
    'bien | correcto | perfecto | genial | excelente | estupendo | fantástico | fantastico | buenísimo | muy bien | todo bien | listo | exacto | exactamente | eso es | entendido | gracias | muchas gracias | mil gracias | te lo agradezco',
  ),
  report: phrases(
    'avísame | avisame | avísame cuando termine | avisame cuando termine | avísame cuando acabes | avisame cuando acabe | me avisas | me avisas cuando termine | me cuentas | cuéntame | cuentame | mantenme informado',
  ),
  object: phrases(
    'el | la | lo | los | las | y | e | con | le | esto | eso | ese | esa | este | esta | ello | plan | comando | comandos | paso | pasos | cambio | cambios | propuesta | tarea | orden | acción | accion | cosa',
  ),
  preposition: phrases('en | de | del | a | al | sobre | desde'),
  noun: phrases(
    'contenedor | contenedores | servidor | servidores | servicio | servicios | máquina | maquina | máquinas | base de datos | bases de datos | tabla | configuración | configuracion | paquete | paquetes | disco | discos | volumen | clúster | nodo | nodos | cortafuegos | regla | reglas | certificado | certificados | usuario | usuarios | carpeta | archivo | archivos | sistema',
  ),
  action: {
    restart: phrases(
      'reinicio | reiniciar | reinicia | reinícialo | reinicialo | reinicie | recargar | recarga',
    ),
    shutdown: phrases('apagar | apaga | apágalo | apagado'),
    start: phrases('arranca | arrancar | iniciar | inicia | encender | enciende'),
    upgrade: phrases(
      'actualización | actualizacion | actualizar | actualiza | actualízalo | actualizalo | parchear',
    ),
    install: phrases('instalación | instalacion | instalar | instala | instálalo'),
    delete: phrases(
      'borrado | borrar | borra | bórralo | borralo | eliminación | eliminacion | eliminar | elimina | elimínalo | eliminalo | destrucción | destruir | destruye | destrúyelo | formatear | limpiar | limpieza',
    ),
    create: phrases('crear | crea | creación | creacion | añadir | agregar'),
    deploy: phrases('desplegar | despliega | despliegue'),
    move: phrases('mover | mueve | migrar | migra | migración | migracion | renombrar | copiar'),
    resize: phrases('ampliar | amplía | reducir | redimensionar'),
    backup: phrases('respaldo | respaldar | copia de seguridad'),
    restore: phrases('restaurar | restaura | restauración | restauracion'),
    enable: phrases('activar | activa | habilitar'),
    disable: phrases('desactivar | desactiva | deshabilitar'),
    change: phrases(
      'cambiar | modificar | editar | reparar | arreglar | reemplazar | renovar | configurar',
    ),
  },
  all: phrases(
    'todo | todos | todas | todo eso | todo esto | todo el plan | el plan entero | el plan completo | todos ellos',
  ),
  count: {
    ambos: 2,
    ambas: 2,
    'los dos': 2,
    'las dos': 2,
    'los tres': 3,
    'las tres': 3,
    'los cuatro': 4,
  },
  statement: phrases(
    'que | es | está | esta lleno | son | fue | era | ha | he | han | hay | tiene | tengo | funciona | terminó | termino | falló | fallo | recibido | recepción | recibo | lectura | asistencia | dice | dijo | lleno | vacío',
  ),
};
