import type { MachineSpec } from '../machine/machine.ts';
import { ADDRESSES, GIB, debian } from './debian.ts';

const WELCOME =
  '<!DOCTYPE html>\n<html><head><title>Home</title></head><body><h1>It works, at home.</h1></body></html>\n';

/**
 * The web server. nginx failed at night: an unattended upgrade restarted it in the minute in which the name server was
 * down, so it could not resolve its upstream. The configuration is sound, so a restart mends it.
 */
export const web1: MachineSpec = debian({
  name: 'web-1',
  address: ADDRESSES['web-1'] ?? '',
  root: { sizeGib: 40, usedGib: 21 },
  memoryMib: 2048,
  usedMemoryMib: 520,
  units: [
    {
      name: 'nginx.service',
      description: 'A high performance web server and a reverse proxy server',
      processes: [
        'nginx: master process /usr/sbin/nginx -g daemon on; master_process on;',
        'nginx: worker process',
        'nginx: worker process',
      ],
      user: 'www-data',
      memoryMib: 14,
      listens: [
        { protocol: 'tcp', address: '0.0.0.0', port: 80 },
        { protocol: 'tcp', address: '0.0.0.0', port: 443 },
      ],
      active: 'failed',
      exitCode: 1,
      sinceSecondsAgo: 3 * 3600 + 11 * 60,
      startMs: 900,
    },
    {
      name: 'certbot.timer',
      description: 'Run certbot twice daily',
      timer: { lastSecondsAgo: 21_000, nextInSeconds: 22_000 },
    },
  ],
  packages: [
    {
      name: 'nginx',
      version: '1.22.1-9',
      candidate: '1.22.1-9+deb12u1',
      security: true,
      sizeKib: 527,
      restarts: ['nginx.service'],
      description: 'small, powerful, scalable web/proxy server',
    },
    {
      name: 'curl',
      version: '7.88.1-10+deb12u5',
      candidate: '7.88.1-10+deb12u6',
      security: true,
      sizeKib: 315,
      description: 'command line tool for transferring data',
    },
    { name: 'certbot', version: '2.1.0-4', description: 'automatically configure HTTPS' },
  ],
  sites: [
    { port: 80, unit: 'nginx.service', server: 'nginx/1.22.1', status: 200, body: WELCOME },
    { port: 443, unit: 'nginx.service', server: 'nginx/1.22.1', status: 200, body: WELCOME },
  ],
  files: {
    '/etc/nginx/nginx.conf':
      'user www-data;\nworker_processes auto;\nevents { worker_connections 768; }\nhttp {\n  include /etc/nginx/sites-enabled/*;\n}\n',
    '/etc/nginx/sites-enabled/www.conf':
      'server {\n  listen 80;\n  server_name www.home.example;\n  root /var/www/html;\n}\n',
    '/etc/nginx/sites-enabled/git.conf':
      'upstream gitea {\n  server gitea.home.example:3000;\n}\nserver {\n  listen 80;\n  server_name git.home.example;\n  location / {\n    proxy_pass http://gitea;\n  }\n}\n',
    '/var/www/html/index.html': WELCOME,
    '/var/log/nginx/error.log':
      '[emerg] host not found in upstream "gitea.home.example:3000" in /etc/nginx/sites-enabled/git.conf:2\n',
    '/var/log/nginx/access.log':
      '10.20.0.50 - - "GET / HTTP/1.1" 200 121 "-" "Mozilla/5.0"\n'.repeat(40),
  },
  large: { '/var/log/nginx/access.log.1': { bytes: 1.4 * GIB, daysAgo: 2 } },
  journal: [
    {
      secondsAgo: 11_470,
      unit: 'apt-daily-upgrade.service',
      ident: 'systemd',
      text: 'Starting apt-daily-upgrade.service - Daily apt upgrade and clean activities...',
    },
    {
      secondsAgo: 11_464,
      unit: 'nginx.service',
      ident: 'systemd',
      text: 'Stopping nginx.service - A high performance web server and a reverse proxy server...',
    },
    {
      secondsAgo: 11_463,
      unit: 'nginx.service',
      ident: 'systemd',
      text: 'Starting nginx.service - A high performance web server and a reverse proxy server...',
    },
    {
      secondsAgo: 11_461,
      unit: 'nginx.service',
      ident: 'nginx',
      text: 'nginx: [emerg] host not found in upstream "gitea.home.example:3000" in /etc/nginx/sites-enabled/git.conf:2',
      priority: 3,
    },
    {
      secondsAgo: 11_461,
      unit: 'nginx.service',
      ident: 'nginx',
      text: 'nginx: configuration file /etc/nginx/nginx.conf test failed',
      priority: 3,
    },
    {
      secondsAgo: 11_460,
      unit: 'nginx.service',
      ident: 'systemd',
      text: 'nginx.service: Control process exited, code=exited, status=1/FAILURE',
      priority: 4,
    },
    {
      secondsAgo: 11_460,
      unit: 'nginx.service',
      ident: 'systemd',
      text: "nginx.service: Failed with result 'exit-code'.",
      priority: 4,
    },
    {
      secondsAgo: 11_460,
      unit: 'nginx.service',
      ident: 'systemd',
      text: 'Failed to start nginx.service - A high performance web server and a reverse proxy server.',
      priority: 3,
    },
    {
      secondsAgo: 11_430,
      unit: 'apt-daily-upgrade.service',
      ident: 'systemd',
      text: 'Finished apt-daily-upgrade.service - Daily apt upgrade and clean activities.',
    },
  ],
});
