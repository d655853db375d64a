import { NomosError } from '../../errors.ts';
import type { Fault } from '../../errors.ts';

/**
 * What can go wrong between Nomos and a model endpoint. `again`: whether the same request may work a little later;
 * `other`: whether another model may do better now.
 */
const KINDS = {
  model_unauthorized: { fault: 'operator', again: false, other: false },
  model_not_found: { fault: 'operator', again: false, other: true },
  model_request_refused: { fault: 'system', again: false, other: true },
  model_context_too_long: { fault: 'system', again: true, other: true },
  model_rate_limited: { fault: 'model', again: true, other: true },
  model_unavailable: { fault: 'model', again: true, other: true },
  model_unreachable: { fault: 'model', again: true, other: false },
  model_hung: { fault: 'model', again: true, other: true },
  model_stream_cut: { fault: 'model', again: true, other: true },
  model_answer_too_long: { fault: 'model', again: true, other: true },
  model_bad_answer: { fault: 'model', again: true, other: true },
  model_stopped: { fault: 'system', again: false, other: false },
} as const satisfies Record<string, { fault: Fault; again: boolean; other: boolean }>;

/** The stable codes of `ModelError`. */
export type ModelErrorCode = keyof typeof KINDS;

/** A model endpoint that gave no answer: which one, why, and what to do. */
export class ModelError extends NomosError {
  override readonly code: ModelErrorCode;
  /** Whether the same request may work later. */
  readonly again: boolean;
  /** Whether another model may answer it now. */
  readonly other: boolean;
  /** How long the endpoint asked to be left alone, in milliseconds; undefined if it said nothing. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: ModelErrorCode,
    message: string,
    options: {
      model: string;
      status?: number;
      hint?: string;
      retryAfterMs?: number;
      cause?: unknown;
    },
  ) {
    super(code, KINDS[code].fault, message, {
      fields: {
        model: options.model,
        ...(options.status === undefined ? {} : { status: options.status }),
      },
      ...(options.hint === undefined ? {} : { hint: options.hint }),
      ...(options.cause === undefined ? {} : { cause: options.cause }),
    });
    this.code = code;
    this.again = KINDS[code].again;
    this.other = KINDS[code].other;
    this.retryAfterMs = options.retryAfterMs;
  }
}
