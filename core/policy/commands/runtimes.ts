/** Clients of container runtimes below Docker and Kubernetes. */
import { DANGER, execIn, LOGS } from './containers.ts';
import { reads, verbs } from './rules.ts';
import type { Table } from './rules.ts';

export const runtimes: Table = {
  crictl: verbs({
    globals: '-r: -i: -t: --runtime-endpoint: --image-endpoint: --timeout:',
    read: {
      'ps pods images stats statsp info version img': reads(
        '-aqvl -o: --all --quiet --output: --no-trunc --name: --state: --label: --namespace: --id: --image: --latest --pod:',
        {
          output: (call) =>
            call.args.some((arg) => /^(-[a-z]*q|--quiet)/.test(arg.value))
              ? { kind: 'id' }
              : { kind: 'any' },
        },
      ),
      'inspect inspecti inspectp': reads('-o: -q --output:'),
      logs: LOGS,
      exec: execIn('-it --tty --interactive --sync --timeout:'),
    },
  }),
  ctr: verbs({
    globals: '-n: -a: --namespace: --address:',
    read: {
      'containers container c images image i tasks task t namespaces ns snapshots content plugins':
        verbs({ read: { 'list ls info check': reads('-q --quiet') } }),
      version: reads(''),
    },
    danger: DANGER,
  }),
};
