/** A JSON Schema, as the model endpoint takes it for the arguments of a tool. */
export type JsonSchema = { readonly [key: string]: unknown };

/** A tool as the model is told about it. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
}

/** A tool call that the model asked for. `arguments` is its text, which may not even be JSON. */
export interface ModelToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** A picture that goes along with a message. */
export interface ModelPicture {
  /** Such as `image/png`. */
  readonly mimetype: string;
  readonly base64: string;
}

/** One message of a request. */
export type ModelMessage =
  | { readonly role: 'system'; readonly content: string }
  | {
      readonly role: 'user';
      readonly content: string;
      readonly pictures?: readonly ModelPicture[];
    }
  | {
      readonly role: 'assistant';
      readonly content: string;
      readonly toolCalls?: readonly ModelToolCall[];
    }
  | { readonly role: 'tool'; readonly toolCallId: string; readonly content: string };

/** One request to a model. Without `tools` it can only answer in words. */
export interface ModelRequest {
  readonly messages: readonly ModelMessage[];
  readonly tools?: readonly ModelTool[];
}

/** Tokens of one request, as the endpoint counted them; estimated at four characters a token where it does not. */
export interface ModelUsage {
  readonly tokensIn: number;
  readonly tokensOut: number;
  /** What the endpoint says that it charged, in its own unit of money; left out where it says nothing. */
  readonly cost?: number;
}

/** A whole answer. */
export interface ModelAnswer {
  readonly text: string;
  readonly toolCalls: readonly ModelToolCall[];
  /** `length`: cut at the endpoint's own limit. `filtered`: withheld by it. */
  readonly finish: 'stop' | 'length' | 'filtered';
  readonly usage: ModelUsage;
  /** Which of the configured models answered. */
  readonly model: string;
}

/** What a request may be given besides its content. */
export interface CompleteOptions {
  /** Ends the request at once; it then rejects with `model_stopped`. */
  readonly signal?: AbortSignal;
  /** Called with all of the text so far whenever more of it came. Begins anew when another model is tried. */
  readonly onText?: (textSoFar: string) => void;
}

/** Something that answers chat requests. */
export interface ChatModel {
  /**
   * One answer, from the first configured model that gives one. Rejects with a `ModelError`; it never tries the same
   * model twice, so that the caller decides on repeats and can show them.
   */
  complete(request: ModelRequest, options?: CompleteOptions): Promise<ModelAnswer>;
}
