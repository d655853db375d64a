#!/usr/bin/env node
// `nomos …`: the program's own commands, and `nomos demo`, which plays a conversation over the embedded services.
const args = process.argv.slice(2);
process.argv.splice(2, Infinity, ...(args[0] === 'demo' ? args : ['run', ...args]));
await import('./bootstrap.mjs');
