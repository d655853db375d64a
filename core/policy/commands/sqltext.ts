/** SQL: whether a text only asks. Every statement, function and table counts; what is not known to be harmless is not. */
import { changes, destroys, shown } from '../model.ts';
import type { Finding } from '../model.ts';
import { secrecyOf } from '../secrets.ts';

/** Functions that only compute or tell. */
const FUNCTIONS = new Set(
  `count sum avg min max round abs ceil ceiling floor coalesce nullif greatest least length char_length octet_length lower upper trim ltrim rtrim substr substring left right replace concat concat_ws group_concat string_agg array_agg json_agg jsonb_agg json_build_object jsonb_build_object row_to_json to_json to_jsonb to_char to_date to_timestamp date date_trunc date_part extract age now current_timestamp current_date current_database current_user current_schema current_schemas session_user user version database schema connection_id cast convert format position strpos split_part regexp_replace regexp_matches unnest generate_series row_number rank dense_rank ntile lag lead first_value last_value over partition filter exists in any all some values if ifnull isnull iif case when then else and or not as on using from join where by having with select distinct interval year month day hour minute second unix_timestamp from_unixtime datediff timediff date_format date_add date_sub adddate timestampdiff str_to_date strftime datetime time julianday unixepoch typeof hex quote printf total random instr like glob likelihood sqlite_version changes last_insert_rowid pg_size_pretty pg_database_size pg_total_relation_size pg_relation_size pg_table_size pg_indexes_size pg_tablespace_size pg_postmaster_start_time pg_is_in_recovery pg_last_wal_receive_lsn pg_last_wal_replay_lsn pg_last_xact_replay_timestamp pg_current_wal_lsn pg_wal_lsn_diff pg_backend_pid pg_get_viewdef pg_get_indexdef pg_get_constraintdef pg_get_functiondef pg_get_userbyid pg_encoding_to_char pg_blocking_pids pg_conf_load_time pg_stat_get_activity pg_stat_get_backend_idset obj_description col_description shobj_description format_type pg_table_is_visible has_table_privilege has_database_privilege inet_server_addr inet_server_port inet_client_addr pg_stat_file_not quote_ident quote_literal md5 sha1 sha2 crc32 uuid sleep_not information_schema numeric decimal varchar char text int integer bigint float double table row rows epoch array bool boolean regclass pragma_table_info json_extract json_each json_array_length jsonb_array_length array_length cardinality truncate_not mod power sqrt sign exp ln log bit_and bit_or bool_and bool_or every variance stddev percentile_cont percentile_disc within mode current_setting pg_size_bytes lpad rpad reverse repeat ascii chr initcap space field elt find_in_set inet_ntoa inet_aton host`
    .split(/\s+/)
    .filter((name) => !name.endsWith('_not')),
);

/** Words that make a statement more than a question, wherever they stand outside quotes. */
const WRITING =
  /\b(insert|update|delete|merge|upsert|replace\s+into|create|alter|drop|truncate|grant|revoke|copy|call|do|execute|exec|prepare|deallocate|into|lock|vacuum|reindex|cluster|refresh|notify|listen|unlisten|load|import|attach|detach|rename|set|reset|begin|start|commit|rollback|savepoint|handler|kill|flush|purge|optimize|repair|analyze|checkpoint|discard|comment|security|shutdown|install|uninstall|nextval|setval)\b|\bfor\s+(no\s+key\s+)?(update|share|key)\b|:=/i;

/** Words that name secrets in tables. */
const SECRET =
  /\b(pg_shadow|pg_authid|pg_user_mapping\w*|authentication_string|\w*passw(or)?d\w*|\w*passwd\w*|rolpassword|\w*secret\w*|\w*token\w*|\w*api_?key\w*|\w*private_?key\w*|\w*credential\w*|\w*_hash|hashed?_\w+|user_pass|pwd|oauth\w*|pg_hba_file_rules_not)\b/i;

/**
 * A text without comments and string contents; undefined when it cannot be told apart. Where dialects disagree (`--x` and `#` are
 * comments in one of them only, backticks and brackets quote in one of them only) it is not understood.
 */
function bare(sql: string): string | undefined {
  if (/\/\*[!+M]/.test(sql)) return undefined;
  let out = '';
  let at = 0;
  while (at < sql.length) {
    const rest = sql.slice(at);
    const skip = /^(--(?=\s|$)[^\n]*|\/\*[^]*?\*\/)/.exec(rest)?.[0];
    const quoted = /^'(?:[^'\\]|'')*'/.exec(rest)?.[0];
    const named = /^("(?:[^"\\]|"")*"|`[^`]*`)/.exec(rest)?.[0];
    if (skip !== undefined) at += skip.length;
    else if (quoted !== undefined) {
      out += "''";
      at += quoted.length;
    } else if (named !== undefined) {
      if (/[;'\n]/.test(named)) return undefined;
      out += ` ${named.slice(1, -1).replace(/\W/g, '_')} `;
      at += named.length;
    } else if (/^['"`\\#]|^--|^\$\w*\$|^\/\*|^\[[^\]]*['"`]/.test(rest)) return undefined;
    else {
      out += rest[0];
      at++;
    }
  }
  return out;
}

const DANGER: readonly (readonly [RegExp, string])[] = [
  [
    /\bdrop\s+(table|database|schema|tablespace|view|materialized\s+view|index|role|user|owned|function|sequence|extension|collection|keyspace|column|partition|trigger)\b/i,
    'drops',
  ],
  [/\btruncate\b(?!\s*\(\s*[\w.]+\s*,)/i, 'truncates a table'],
  [
    /\bdelete\s+from\s+(only\s+)?[\w."'`$]+\s*(;|$|returning\b|where\s+(true|1\s*=\s*1)\b)/i,
    'deletes every row of a table',
  ],
  [/\balter\s+table\b[^;]*\bdrop\b/i, 'drops a part of a table'],
  [/\bupdate\s+[\w."`$]+\s+set\b(?![^;]*\bwhere\b)/i, 'changes every row of a table'],
  [/\bpurge\s+binary\s+logs\b|\breset\s+(master|binary)\b/i, 'deletes logs that recovery needs'],
];

/** What speaks against running SQL unasked. */
export function sqlFindings(sql: string): Finding[] {
  const found: Finding[] = [];
  const loose = sql.replace(/\/\*!?\d*|\*\/|--[^\n]*\n/g, ' ');
  const stripped = sql.replace(/\/\*(?!!)[^]*?\*\/|(--|#)[^\n]*(\n|$)/g, ' ');
  for (const [pattern, what] of DANGER)
    if (pattern.test(loose) || pattern.test(stripped))
      found.push(destroys(`SQL ${what}: ${shown(sql)}`));
  for (const [, path = ''] of sql.matchAll(/['"](\/[^'"]*)['"]/g))
    if (secrecyOf(path) === 'key')
      found.push(destroys(`SQL names a private key or password file: ${shown(path)}`));
  if (found.length > 0) return found;
  const text = bare(sql);
  if (text === undefined) return [changes(`SQL that is not understood: ${shown(sql)}`)];
  for (const statement of text.split(';')) found.push(...statementFindings(statement.trim()));
  return found;
}

function statementFindings(statement: string): Finding[] {
  if (statement === '') return [];
  const accounts =
    /\bmysql\s*\.\s*(user|global_priv)\b/i.test(statement) && /\*|plugin/.test(statement);
  if (accounts || SECRET.test(statement))
    return [changes(`SQL reads what may be secret: ${shown(statement)}`)];
  if (/^show\s+(grants|create\s+user)\b/i.test(statement))
    return [changes('SQL shows privileges with password hashes')];
  if (/^(show|describe|desc)\b/i.test(statement))
    return /\binto\b|\(/i.test(statement) ? [changes(`SQL: ${shown(statement)}`)] : [];
  if (/^pragma\b/i.test(statement)) {
    const asks =
      /^pragma\s+(table_info|table_list|index_list|index_info|foreign_key_list|database_list|integrity_check|quick_check|page_count|page_size|freelist_count|compile_options|encoding|user_version|journal_mode|schema_version|foreign_keys)\s*(\(\s*[\w'"]+\s*\))?$/i;
    return asks.test(statement) &&
      !/(journal_mode|user_version|encoding|page_size|foreign_keys|schema_version)\s*\(/i.test(
        statement,
      )
      ? []
      : [changes(`SQL sets ${shown(statement)}`)];
  }
  const question = statement.replace(
    /^explain\s*(\([^)]*\)\s*)?((analyze|verbose|extended|format\s*=?\s*\w+|query\s+plan)\s+)*/i,
    '',
  );
  if (
    /\banalyze\b/i.test(statement.slice(0, statement.length - question.length)) &&
    !/^(select|with|values|table)\b/i.test(question)
  )
    return [changes(`SQL runs what it explains: ${shown(statement)}`)];
  if (!/^\(*\s*(select|with|values|table)\b/i.test(question))
    return [changes(`SQL that is not a question: ${shown(statement)}`)];
  const writes = WRITING.exec(question);
  if (writes) return [changes(`SQL holds ${writes[0]}: ${shown(statement)}`)];
  for (const [, name = ''] of question.matchAll(/([\w.]+)\s*\(/g)) {
    const plain = name.toLowerCase().replace(/^pg_catalog\./, '');
    if (!FUNCTIONS.has(plain) && !/^\d+$/.test(plain))
      return [changes(`SQL calls ${shown(name)}, which is not known to be harmless`)];
  }
  return /@@?\w+\s*:?=/.test(question) ? [changes(`SQL sets a variable: ${shown(statement)}`)] : [];
}
