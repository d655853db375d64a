import { parseArgs } from 'node:util';
import { startDemoFleet } from './index.ts';

const HELP = `Starts the demo fleet alone, until Ctrl-C. Nothing sent to it runs on this machine.

  node demo/fleet/cli.ts [--home FOLDER] [--pace NUMBER]

  --home   where its keys and ports are kept (.nomos/fleet)
  --pace   1 is lifelike, 0.1 ten times as fast (1)
`;

const { values } = parseArgs({
  options: {
    home: { type: 'string', default: '.nomos/fleet' },
    pace: { type: 'string', default: '1' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
if (values.help) {
  process.stdout.write(HELP);
} else {
  const fleet = await startDemoFleet({
    home: values.home,
    pace: Number(values.pace),
    onCommand: ({ target, kind, command }) =>
      process.stdout.write(`${target} (${kind}): ${command.replaceAll('\n', '\n  ')}\n`),
  });
  process.stdout.write(`inventory  ${fleet.inventoryPath}\n`);
  for (const { slug, port } of fleet.hosts) {
    process.stdout.write(
      `${slug.padEnd(10)} ssh -i ${fleet.privateKeyPath} -o UserKnownHostsFile=${fleet.knownHostsPath} -p ${port} root@127.0.0.1\n`,
    );
  }
  const stop = (): void => void fleet.stop();
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
}
