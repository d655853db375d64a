import { fail } from '../machine/command.ts';
import type { CommandTable } from '../machine/command.ts';

/** Programs of nginx and PostgreSQL, on the machines that have them. */
export const nginxCommands: CommandTable = {
  nginx: async (args, { machine, run }) => {
    if (args.includes('-v') || args.includes('-V'))
      return { stderr: 'nginx version: nginx/1.22.1\n' };
    if (args.includes('-s'))
      return run(['systemctl', args.includes('reload') ? 'reload' : 'stop', 'nginx']);
    if (!args.includes('-t') && !args.includes('-T')) return run(['systemctl', 'start', 'nginx']);
    const sites = await machine.fs.readdir('/etc/nginx/sites-enabled').catch(() => []);
    for (const site of sites) {
      const path = `/etc/nginx/sites-enabled/${site}`;
      const text = await machine.fs.readFile(path);
      const opened = text.split('{').length;
      if (opened !== text.split('}').length) {
        return fail(
          1,
          `nginx: [emerg] unexpected end of file, expecting "}" in ${path}:${text.split('\n').length}\nnginx: configuration file /etc/nginx/nginx.conf test failed`,
        );
      }
    }
    return {
      stderr:
        'nginx: the configuration file /etc/nginx/nginx.conf syntax is ok\nnginx: configuration file /etc/nginx/nginx.conf test is successful\n',
    };
  },
};

/** Programs of PostgreSQL. */
export const postgresCommands: CommandTable = {
  pg_isready: (_args, { machine }) => {
    const up = machine.unit('postgresql')?.active === 'active';
    return {
      stdout: `/var/run/postgresql:5432 - ${up ? 'accepting connections' : 'no response'}\n`,
      exitCode: up ? 0 : 2,
    };
  },
  psql: (args, { machine }) => {
    if (args.includes('--version') || args.includes('-V'))
      return 'psql (PostgreSQL) 15.6 (Debian 15.6-0+deb12u1)\n';
    if (machine.unit('postgresql')?.active !== 'active') {
      return fail(
        2,
        'psql: error: connection to server on socket "/var/run/postgresql/.s.PGSQL.5432" failed: No such file or directory',
      );
    }
    const query = args.join(' ').toLowerCase();
    if (args.includes('-l') || query.includes('pg_database')) {
      return '   Name    |  Owner   | Size\n-----------+----------+--------\n auth      | auth     | 41 MB\n gitea     | gitea    | 812 MB\n postgres  | postgres | 7 MB\n(3 rows)\n';
    }
    if (query.includes('pg_stat_activity')) return ' count\n-------\n    14\n(1 row)\n';
    if (query.includes('version()')) return ' PostgreSQL 15.6 on x86_64-pc-linux-gnu\n(1 row)\n';
    if (query.includes('select 1')) return ' ?column?\n----------\n        1\n(1 row)\n';
    return fail(
      1,
      'psql: this statement is not part of the demo fleet; -l, version(), pg_database and pg_stat_activity are',
    );
  },
  pg_lsclusters: (_args, { machine }) =>
    `Ver Cluster Port Status Owner    Data directory\n15  main    5432 ${machine.unit('postgresql')?.active === 'active' ? 'online' : 'down  '} postgres /var/lib/postgresql/15/main\n`,
};
