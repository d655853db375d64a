/** One option of the configuration, as the documentation and the error messages tell it. */
export interface Option {
  name: string;
  meaning: string;
  /** What is taken, in words. */
  allowed: string;
  /** What holds when it is not set, in words. */
  otherwise: string;
  /** Holds a secret: it is never printed, and `<name>_FILE` is the better way to give it. */
  secret?: true;
}

/** Every option, in the order of the documentation. `docs/configuration.md` is made from this list. */
export const OPTIONS = [
  {
    name: 'DATABASE_URL',
    meaning: 'PostgreSQL 14 or newer.',
    allowed: 'postgres://user:password@host:port/database',
    otherwise: 'an embedded PostgreSQL is started',
    secret: true,
  },
  {
    name: 'REDIS_URL',
    meaning: 'Redis 7 or Valkey, with `maxmemory-policy noeviction`.',
    allowed: 'redis://:password@host:port/number or rediss://…',
    otherwise: 'an embedded Valkey is started',
    secret: true,
  },
  {
    name: 'MATRIX_HOMESERVER_URL',
    meaning: 'The homeserver that the bot logs in to.',
    allowed: 'an http or https address',
    otherwise: 'an embedded Synapse is started',
  },
  {
    name: 'MATRIX_ACCESS_TOKEN',
    meaning: 'The access token of the bot account.',
    allowed: 'an access token',
    otherwise: 'MATRIX_USER and MATRIX_PASSWORD are used',
    secret: true,
  },
  {
    name: 'MATRIX_USER',
    meaning: 'The bot account, for logging in with a password.',
    allowed: 'a user name or a full Matrix id',
    otherwise: 'MATRIX_ACCESS_TOKEN is needed',
  },
  {
    name: 'MATRIX_PASSWORD',
    meaning:
      'The password of the bot account. Beside MATRIX_ACCESS_TOKEN it serves to sign the bot’s device for encrypted rooms, once.',
    allowed: 'a password',
    otherwise: 'MATRIX_ACCESS_TOKEN is needed',
    secret: true,
  },
  {
    name: 'NOMOS_OPERATORS',
    meaning:
      'Who may direct the bot, and as what. Nobody else can start, approve or read anything.',
    allowed: '@ann:example.org=admin,@bob:example.org=approver,@eve:example.org=viewer',
    otherwise: 'an error: somebody must be named',
  },
  {
    name: 'OPENAI_BASE_URL',
    meaning: 'An OpenAI-compatible endpoint.',
    allowed: 'an http or https address, usually ending in /v1',
    otherwise: 'https://api.openai.com/v1 when a key is set, else the demo model',
  },
  {
    name: 'OPENAI_API_KEY',
    meaning: 'The key for that endpoint. Endpoints without keys take any text.',
    allowed: 'a key',
    otherwise: 'the built-in demo model answers, and says so',
    secret: true,
  },
  {
    name: 'NOMOS_MODEL',
    meaning: 'The model; several by commas are tried in order.',
    allowed: 'model names',
    otherwise: 'gpt-5',
  },
  {
    name: 'NOMOS_MODEL_REASONING',
    meaning: 'The reasoning effort that is asked of the model.',
    allowed: 'none, minimal, low, medium, high',
    otherwise: 'the endpoint decides',
  },
  {
    name: 'NOMOS_VISION',
    meaning: 'Whether the model takes pictures. Otherwise an operator who sends one is told so.',
    allowed: 'on, off',
    otherwise: 'on at api.openai.com, else off',
  },
  {
    name: 'NOMOS_TRANSCRIBE_MODEL',
    meaning:
      'The model that turns voice messages into text. Recordings of operators go to its endpoint.',
    allowed: 'a model name, such as whisper-1',
    otherwise: 'voice messages are not taken in, and the answer says so',
  },
  {
    name: 'NOMOS_TRANSCRIBE_BASE_URL',
    meaning: 'Another OpenAI-compatible endpoint for that, with /audio/transcriptions.',
    allowed: 'an http or https address, usually ending in /v1',
    otherwise: 'the one of the model',
  },
  {
    name: 'NOMOS_TRANSCRIBE_API_KEY',
    meaning: 'The key for that other endpoint. OPENAI_API_KEY is never sent there.',
    allowed: 'a key',
    otherwise: 'none is sent',
    secret: true,
  },
  {
    name: 'NOMOS_INVENTORY',
    meaning: 'The fleet: hosts, containers, services and how they hang together.',
    allowed: 'a YAML file, see seeds/inventory.example.yaml',
    otherwise: 'the simulated demo fleet',
  },
  {
    name: 'NOMOS_ONTOLOGY',
    meaning: 'The types of entities and relations.',
    allowed: 'a YAML file',
    otherwise: 'seeds/ontology.yaml',
  },
  {
    name: 'NOMOS_POLICY',
    meaning: 'The rules on top of the classifier.',
    allowed: 'a YAML file',
    otherwise: 'seeds/policy.yaml',
  },
  {
    name: 'NOMOS_RUNBOOKS',
    meaning: 'The runbooks: one YAML file each, named after it.',
    allowed: 'a folder with .yaml files',
    otherwise: 'seeds/runbooks',
  },
  {
    name: 'NOMOS_CHECKS',
    meaning: 'What is looked at by itself, how often, and what raises a signal.',
    allowed: 'a YAML file, see seeds/checks.yaml; or off',
    otherwise: 'seeds/checks.yaml',
  },
  {
    name: 'NOMOS_SOUL',
    meaning: "The agent's persona and rules.",
    allowed: 'a markdown file',
    otherwise: 'SOUL.md',
  },
  {
    name: 'NOMOS_SSH_KEY_FILE',
    meaning:
      'The private key for SSH; not passphrase-protected (use SSH_AUTH_SOCK for one that is).',
    allowed: 'a key file',
    otherwise: 'the agent at SSH_AUTH_SOCK',
  },
  {
    name: 'NOMOS_KNOWN_HOSTS',
    meaning: 'Host keys that are known. A host that is not in it is pinned at first use.',
    allowed: 'a known_hosts file',
    otherwise: 'every host is pinned at first use',
  },
  {
    name: 'NOMOS_LANGUAGES',
    meaning: 'Languages besides English in which yes, no and confirmations are understood.',
    allowed: 'de, es, fr, by commas',
    otherwise: 'English alone',
  },
  {
    name: 'NOMOS_TIMEZONE',
    meaning: 'The zone in which times are shown.',
    allowed: 'a name such as Europe/Berlin, or UTC',
    otherwise: "the machine's own zone",
  },
  {
    name: 'NOMOS_STREAMING',
    meaning: 'Whether the final answer appears while it is being written.',
    allowed: 'on, off',
    otherwise: 'on',
  },
  {
    name: 'NOMOS_ENCRYPTION',
    meaning:
      'Whether rooms that the bot makes are encrypted: `auto` where the task was asked for in an encrypted room. `never` leaves encrypted rooms unread as well. See decisions/encryption.md.',
    allowed: 'auto, always, never',
    otherwise: 'auto',
  },
  {
    name: 'NOMOS_API_LISTEN',
    meaning: 'Where the API listens.',
    allowed: 'host:port; port 0 takes a free one',
    otherwise: '127.0.0.1:8090',
  },
  {
    name: 'NOMOS_HOME',
    meaning: 'Where the embedded services keep their state.',
    allowed: 'a folder',
    otherwise: '.nomos',
  },
  {
    name: 'NOMOS_APPROVAL_TTL',
    meaning: 'How long an approval waits before it expires.',
    allowed: 'a duration such as 90s, 60m or 1h30m',
    otherwise: '60m',
  },
  {
    name: 'NOMOS_GRANT_TTL',
    meaning: 'How long an approval lets the same task make further changes without asking.',
    allowed: 'a duration',
    otherwise: '30m',
  },
  {
    name: 'NOMOS_DESTRUCTIVE_GRANT_TTL',
    meaning:
      'The same for destructive commands, in the same task and on the confirmed target alone.',
    allowed: 'a duration',
    otherwise: '15m',
  },
  {
    name: 'NOMOS_IDLE_AFTER',
    meaning: 'How long a task with a goal may lie idle before the agent is nudged.',
    allowed: 'a duration',
    otherwise: '2m',
  },
  {
    name: 'NOMOS_INLINE_WAIT',
    meaning: 'How long the agent waits for a command before it is told that it still runs.',
    allowed: 'a duration',
    otherwise: '60s',
  },
  {
    name: 'NOMOS_EXEC_TIMEOUT',
    meaning: 'How long a command may run unless asked otherwise.',
    allowed: 'a duration, 60m at most',
    otherwise: '10m',
  },
  {
    name: 'NOMOS_TASK_TOKENS',
    meaning: 'How many tokens one task may use, in and out together, before it stops with a card.',
    allowed: 'a whole number above 0',
    otherwise: 'as many as it takes',
  },
  {
    name: 'NOMOS_DAY_TOKENS',
    meaning: 'The same for all tasks together, in the last 24 hours.',
    allowed: 'a whole number above 0',
    otherwise: 'as many as it takes',
  },
  {
    name: 'NOMOS_LOG_LEVEL',
    meaning: 'How much is logged. Command output and model text appear at debug only.',
    allowed: 'fatal, error, warn, info, debug, trace, silent',
    otherwise: 'info',
  },
] as const satisfies readonly Option[];

/** The name of an option. */
export type OptionName = (typeof OPTIONS)[number]['name'];
