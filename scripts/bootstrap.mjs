// The way in for `npm start`, `npm test` and `npm run demo`: it needs nothing but Node. It is read by old releases of
// Node too, which must come as far as the sentence below; everything else is in lib/.
const required = 20;
if (Number(process.versions.node.split('.')[0]) < required) {
  console.error(
    'Nomos needs Node ' +
      required +
      ' or newer, and this is ' +
      process.version +
      '. Install a newer one from nodejs.org or with your package manager.',
  );
  process.exit(1);
} else {
  import('./lib/bootstrap.mjs').then(
    (bootstrap) => bootstrap.main(process.argv.slice(2)),
    (error) => {
      console.error(error);
      process.exit(1);
    },
  );
}
