import type { CallState } from './state.ts';
import { label } from './words.ts';

// What each tool does, in the words of somebody who watches; `…` stands for its target or subject.
const TOOL_WORDS: Readonly<Record<string, string>> = {
  run: 'Run on …',
  request_execution: 'Run on …',
  get_execution_status: 'Look at a command on …',
  get_entity: 'Look up …',
  list_entities: 'List entities …',
  list_lxcs: 'List containers …',
  get_relations: 'Look up relations of …',
  get_blast_radius: 'Work out what depends on …',
  explain: 'Explain …',
  get_health_summary: 'Read the fleet’s health',
  get_state_snapshot: 'Read the state of …',
  get_lxc_state: 'Read the state of …',
  tail_log: 'Read the log of …',
  query_metrics: 'Read metrics of …',
  get_trend: 'Read the trend of …',
  get_signal_history: 'Read signals of …',
  list_checks: 'List checks …',
  search_knowledge: 'Search knowledge for …',
  get_entity_knowledge: 'Read what is known about …',
  upsert_knowledge: 'Write down …',
  update_entity_attributes: 'Note facts about …',
  create_relationship: 'Note a relation of …',
  list_pending_approvals: 'Look at what waits',
  get_agent_activity: 'Look at recent activity',
  list_runbooks: 'List runbooks',
  get_runbook: 'Read runbook …',
  http_get: 'Read a web page: …',
  set_goal: 'Set the goal',
  propose_plan: 'Write the plan',
  update_plan_step: 'Tick off a step',
  ask_operator: 'Ask a question',
  complete_task: 'Close the task',
};

// Arguments that name what a call is about, the most telling first. Only these are ever shown (C2: never raw JSON).
const SUBJECTS = [
  'target',
  'slug',
  'entity',
  'name',
  'title',
  'query',
  'text',
  'url',
  'type',
  'about',
  'source',
];

/** A call in words with its target: `Run “check disk space” on web-1`. Never its raw arguments. */
export function callWords(call: Pick<CallState, 'name' | 'arguments' | 'target'>): string {
  const words = TOOL_WORDS[call.name];
  const subject = call.target === null ? subjectOf(call.arguments) : label(call.target, 40);
  if (words === undefined) return `${label(call.name, 40)}${subject === '' ? '' : ` ${subject}`}`;
  const purpose = call.arguments['purpose'];
  if (words === TOOL_WORDS['run'] && typeof purpose === 'string' && purpose.trim() !== '') {
    return `${label(purpose)}${subject === '' ? '' : ` on ${subject}`}`;
  }
  return words
    .replace('…', () => subject)
    .replace(/ (of|on|about|for)? *$/, '')
    .replace(/: *$/, '')
    .trim();
}

function subjectOf(args: Readonly<Record<string, unknown>>): string {
  for (const key of SUBJECTS) {
    const value = args[key];
    if (typeof value === 'string' && value.trim() !== '') return label(value, 40);
    if (Array.isArray(value)) {
      const texts = value.filter((item) => typeof item === 'string');
      if (texts.length > 0) return label(texts.join(', '), 40);
    }
  }
  return '';
}
