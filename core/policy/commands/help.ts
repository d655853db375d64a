/** Questions for a program's version or its help, which no program answers by doing something. */
import type { Call } from '../model.ts';
import { sure } from './lenient.ts';

/** Programs that take such a word for something to work on, that hand it on to another, or that write their settings and logs whatever they are asked. */
const EXCEPT =
  /\.sh$|^(eval|exec|source|\.|trap|alias|command|builtin|kill|init|telinit|killall5|pveperf|pm-suspend|pm-hibernate|systemctl-reboot|sendmail|mail|xargs|git|pm2|gcloud|gsutil|bq|az|make|test|\[|echo|printf|read|set|python\d?|perl|ruby|node|nodejs|php|expect|wish|tclsh|gdb)$/;

/** Programs whose verbs have a help of their own, with the verbs that are the program's and no plugin's. */
const VERBS: Readonly<Record<string, RegExp>> = {
  docker:
    /^(ps|images|logs|inspect|stats|events|info|network|volume|system|image|build|pull|push|tag|rm|rmi|start|stop|restart|kill|cp|diff|port|top|history|node|service|stack|swarm|secret|config|context)( (ls|rm|prune|inspect|create|ps|df))? --help$/,
  kubectl:
    /^(get|describe|logs|top|apply|delete|create|edit|rollout|scale|explain|config|auth|drain|cordon|uncordon|taint|label|annotate|patch|wait|diff) --help$/,
  helm: /^(list|status|history|install|upgrade|uninstall|rollback|repo|search|show|get|template) --help$/,
  apt: /^(install|remove|upgrade|list|search|show|update) --help$/,
  'apt-get': /^(install|remove|upgrade|update) --help$/,
};

/** True when a call asks for the version or the help and for nothing else. */
export function asksForHelp(call: Call): boolean {
  const text = sure(call);
  if (/^--(version|help)$/.test(text)) return !EXCEPT.test(call.name);
  return VERBS[call.name]?.test(text) ?? false;
}
