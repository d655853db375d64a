import type { Middleware, Next } from 'koa';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Database } from '../../db/database.ts';
import { errorText } from '../../errors.ts';
import { log } from '../../log.ts';
import { readFigures, type Count, type Figures } from './figures.ts';

/** Upper bounds of the buckets of answer times, in seconds. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Of the process: memory, CPU, event loop, garbage collection. One for all, since each watches anew. */
let ofProcess: Registry | undefined;

/** What Prometheus is told (H5). */
export class ApiMetrics {
  readonly #database: Database;
  readonly #registry = new Registry();
  readonly #requests: Histogram<'method' | 'route' | 'status'>;
  readonly #up: Gauge;
  readonly #streams: Gauge;
  readonly #stores: Array<(figures: Figures) => void> = [];
  readonly #openStreams: () => number;

  constructor(database: Database, of: { version: string; streams: () => number }) {
    this.#database = database;
    this.#openStreams = of.streams;
    const registers = [this.#registry];
    new Gauge({
      name: 'nomos_info',
      help: 'Which version this is.',
      labelNames: ['version'],
      registers,
    }).set({ version: of.version }, 1);
    this.#up = new Gauge({
      name: 'nomos_database_up',
      help: 'Whether PostgreSQL answers.',
      registers,
    });
    this.#streams = new Gauge({
      name: 'nomos_event_streams',
      help: 'Event streams that are open in this process.',
      registers,
    });
    this.#requests = new Histogram({
      name: 'nomos_http_request_seconds',
      help: 'Requests to the API in this process, streams left out.',
      labelNames: ['method', 'route', 'status'],
      buckets: SECONDS,
      registers,
    });
    this.#state();
    this.#totals();
  }

  /** Counts and times requests. */
  middleware(): Middleware {
    return async (ctx, next: Next) => {
      const from = performance.now();
      await next();
      if (ctx.respond === false) return;
      const route: unknown = ctx.state['route'];
      // Only names of the table: what is asked for elsewhere is up to whoever asks.
      const labels = { method: ctx.method, route: typeof route === 'string' ? route : 'none' };
      this.#requests.observe(
        { ...labels, status: String(ctx.status) },
        (performance.now() - from) / 1000,
      );
    };
  }

  /** All figures as text. Without the database those of the process alone, and `nomos_database_up 0`. */
  async read(): Promise<{ text: string; contentType: string }> {
    ofProcess ??= watchProcess();
    this.#streams.set(this.#openStreams());
    try {
      const figures = await readFigures(this.#database.read);
      for (const store of this.#stores) store(figures);
      this.#up.set(1);
    } catch (error) {
      log.warn({ error: errorText(error) }, 'no figures from the database');
      this.#up.set(0);
    }
    const text = `${await this.#registry.metrics()}\n${await ofProcess.metrics()}`;
    return { text, contentType: this.#registry.contentType };
  }

  /** How things stand: goes up and down. */
  #state(): void {
    this.#gauges('nomos_tasks', 'Tasks that have not ended.', 'status', ({ tasks }) => tasks);
    this.#gauges(
      'nomos_passes',
      'Passes of the agent that wait or run.',
      'state',
      ({ passes }) => passes,
    );
    this.#gauges(
      'nomos_executions',
      'Executions that have not ended.',
      'status',
      ({ executions }) => executions,
    );
    this.#gauge(
      'nomos_pass_oldest_seconds',
      'How long the oldest pass waits that may begin.',
      ({ oldestPassS }) => oldestPassS,
    );
    this.#gauge(
      'nomos_execution_oldest_seconds',
      'How long the oldest execution is queued.',
      ({ oldestExecutionS }) => oldestExecutionS,
    );
    this.#gauge(
      'nomos_questions_open',
      'Questions of the agent that wait for an answer.',
      ({ questions }) => questions,
    );
    this.#gauge(
      'nomos_outbox_pending',
      'What is still to be sent to Matrix.',
      ({ outbox }) => outbox,
    );
    this.#gauge(
      'nomos_outbox_oldest_seconds',
      'How long the oldest of it waits.',
      ({ oldestOutboxS }) => oldestOutboxS,
    );
    this.#gauge(
      'nomos_outbox_failed',
      'What could not be sent to Matrix.',
      ({ outboxFailed }) => outboxFailed,
    );
    this.#gauge(
      'nomos_inbox_pending',
      'What came from Matrix and is still to be worked on.',
      ({ inbox }) => inbox,
    );
    this.#gauge(
      'nomos_sync_age_seconds',
      'Since the homeserver was last heard.',
      ({ syncAgeS }) => syncAgeS ?? Number.NaN,
    );
    this.#gauge('nomos_paused', 'Whether the kill switch is thrown.', ({ paused }) =>
      paused ? 1 : 0,
    );
  }

  /** What has happened: only goes up, but for tasks that are deleted. */
  #totals(): void {
    this.#counters(
      'nomos_executions_ended_total',
      'Executions that have ended.',
      'status',
      ({ ended }) => ended,
    );
    this.#counters(
      'nomos_passes_ended_total',
      'Passes that have ended.',
      'state',
      ({ passesEnded }) => passesEnded,
    );
    this.#counter('nomos_events_total', 'The newest event of the log.', ({ events }) => events);
    this.#counter('nomos_model_calls_total', 'Calls of the model.', ({ modelCalls }) => modelCalls);
    this.#counter('nomos_tokens_in_total', 'Tokens sent to the model.', ({ tokensIn }) => tokensIn);
    this.#counter(
      'nomos_tokens_out_total',
      'Tokens that came from the model.',
      ({ tokensOut }) => tokensOut,
    );
    this.#counter('nomos_cost_total', 'What the endpoint said that it cost.', ({ cost }) => cost);
  }

  #gauge(name: string, help: string, read: (figures: Figures) => number): void {
    const gauge = new Gauge({ name, help, registers: [this.#registry] });
    this.#stores.push((figures) => gauge.set(read(figures)));
  }

  #gauges(name: string, help: string, label: string, read: (figures: Figures) => Count[]): void {
    const gauge = new Gauge({ name, help, labelNames: [label], registers: [this.#registry] });
    this.#stores.push((figures) => {
      gauge.reset();
      for (const one of read(figures)) gauge.set({ [label]: one.name }, one.count);
    });
  }

  #counter(name: string, help: string, read: (figures: Figures) => number): void {
    const counter = new Counter({ name, help, registers: [this.#registry] });
    this.#stores.push((figures) => {
      counter.reset();
      counter.inc(read(figures));
    });
  }

  #counters(name: string, help: string, label: string, read: (figures: Figures) => Count[]): void {
    const counter = new Counter({ name, help, labelNames: [label], registers: [this.#registry] });
    this.#stores.push((figures) => {
      counter.reset();
      for (const one of read(figures)) counter.inc({ [label]: one.name }, one.count);
    });
  }
}

function watchProcess(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}
