/**
 * Loaded into the real program before its own code: when the bootstrap that started it is killed, the program ends in
 * good order as if it had been asked to.
 */
if (process.env.NOMOS_BOOTSTRAP_PID === String(process.ppid) && process.channel) {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel.unref();
}
