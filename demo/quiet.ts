// Imported first: the log takes its level when it is first imported. A person at a terminal wants words, not JSON lines.
process.env['NOMOS_LOG_LEVEL'] ??= 'warn';
