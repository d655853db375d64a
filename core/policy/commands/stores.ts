/** Stores that do not speak SQL, or not only. */
import { changes, destroys, isKnown, shown } from '../model.ts';
import type { Check } from '../model.ts';
import { sendsNames } from './hosts.ts';
import { best, sure } from './lenient.ts';
import { has, readOptions, valuesOf } from './options.ts';
import { dangerFindings, each, problems } from './rules.ts';
import type { Table } from './rules.ts';

const REDIS_READS =
  /^(ping|info|dbsize|keys|scan|hscan|sscan|zscan|get|mget|strlen|getrange|exists|type|ttl|pttl|expiretime|hget|hgetall|hkeys|hvals|hlen|hmget|hexists|lrange|llen|lindex|smembers|scard|sismember|srandmember|zrange|zrangebyscore|zcard|zscore|zcount|zrank|xlen|xinfo|xrange|xrevrange|xpending|time|lastsave|role|randomkey|object|memory|latency|slowlog|client|cluster|command|config|pubsub|module|sentinel|bitcount|pfcount|lolwut|echo|acl)$/i;

const redis: Check = (call) => {
  const read = readOptions(
    call.args,
    '-h: -p: -s: -a: -n: -u: -t: -d: -3 -c --tls --raw --no-raw --csv --json --no-auth-warning --user: --pass: --bigkeys --memkeys --hotkeys --scan --pattern: --count: --cacert: --cert: --key: --insecure --sni: --version --help',
    { stopAtOperand: true },
  );
  const found = [
    ...problems(call.name, read),
    ...sendsNames(call.name, valuesOf(read, '-h', '-u')),
  ];
  const words = read.operands.map((arg) => best(arg));
  const text = words.join(' ');
  if (/^flush(all|db)\b/i.test(text))
    return [destroys(`${call.name} empties the database: ${shown(text)}`)];
  if (words.length === 0) {
    if (has(read, '--bigkeys', '--memkeys', '--hotkeys', '--scan', '--version', '--help'))
      return found;
    const danger = call.input.texts
      .filter((line) => /\bflush(all|db)\b/i.test(line))
      .map(() => destroys(`${call.name} empties the database`));
    return [...found, ...danger, changes(`${call.name} takes commands on standard input`)];
  }
  if (/^(del|unlink)$/i.test(words[0] ?? '') && read.operands.some((arg) => arg.splits))
    return [destroys(`${call.name} deletes every key that comes in`)];
  const [verb = '', second = ''] = words;
  const inner =
    /^(config|client|cluster|memory|latency|slowlog|object|command|xinfo|pubsub|module|sentinel|acl)$/i.test(
      verb,
    );
  const asks =
    /^(get|list|info|nodes|slots|shards|usage|stats|doctor|history|latest|graph|len|encoding|idletime|freq|refcount|help|count|docs|stream|groups|consumers|channels|numsub|numpat|masters|master|replicas|slaves|getname|id|whoami|keyslot|countkeysinslot|malloc-stats|get-master-addr-by-name|ckquorum)$/i;
  const secret =
    /^config get (\*|.*(pass|auth|acl|tls-key))/i.test(text) || /^acl (list|getuser)/i.test(text);
  const open = read.operands.some((arg) => !isKnown({ ...arg, glob: false }));
  if (!REDIS_READS.test(verb) || (inner && second !== '' && !asks.test(second)) || secret || open)
    return [...found, changes(`${call.name} ${shown(text)} is not known to only read`)];
  return found;
};

/** Calls that tell about the server, with nothing but a plain name and no argument. */
const MONGO_READS =
  /^(printjson\()?((db|rs|sh)(\.[a-zA-Z]\w*)*\.(stats|status|serverStatus|conf|config|isMaster|hello|version|getCollectionNames|getName|hostInfo|printReplicationInfo|printSecondaryReplicationInfo|countDocuments|estimatedDocumentCount|dataSize|totalSize|getIndexes)\(\)(\.\w+)*|show (dbs|databases|collections))\)?;?$/;

/** Mongo's shell runs JavaScript. */
const mongo: Check = (call) => {
  const text = [...call.args.map(best), ...call.input.texts].join('\n');
  const read = readOptions(
    call.args,
    '--quiet --norc --host: --port: -u: -p: --eval: --version --authenticationDatabase: --username: --password:',
  );
  const asked = valuesOf(read, '--eval').map((value) => value.value.trim());
  if (has(read, '--version') && read.problems.length === 0) return [];
  if (asked.length > 0 && asked.every((code) => MONGO_READS.test(code)))
    return problems(call.name, read);
  const danger =
    /\.(dropDatabase|drop|dropIndexes?|dropUser)\s*\(|\.(deleteMany|remove)\s*\(\s*(\{\s*\})?\s*\)|dropDatabase|shutdownServer/.test(
      text,
    );
  return [
    danger
      ? destroys(`${call.name} deletes data: ${shown(text)}`)
      : changes(`${call.name} runs a program in the database`),
  ];
};

const SQL_WORDS: readonly (readonly [RegExp, string])[] = [
  [
    /\bdrop\s+(database|table|measurement|series|bucket|keyspace|user|view|schema)\b|\btruncate\b|\b(bucket|org|user) delete\b|^delete( |$)|\bdelete from \S+$/i,
    'deletes data',
  ],
];

export const stores: Table = {
  ...each('redis-cli valkey-cli keydb-cli', { check: redis }),
  ...each('mongo mongosh', { check: mongo }),
  ...each('influx cqlsh clickhouse-client clickhouse duckdb sqlcmd isql cockroach', {
    check: (call) => [
      ...dangerFindings(
        {
          ...call,
          args: [
            ...call.args,
            ...call.input.texts.map((value) => ({ value, splits: false, glob: false, holes: [] })),
          ],
        },
        SQL_WORDS,
      ),
      ...(call.name === 'influx' && /^(ping|version|(bucket|org) list)$/.test(sure(call))
        ? []
        : [changes(`${call.name} runs a query`)]),
    ],
  }),
};
