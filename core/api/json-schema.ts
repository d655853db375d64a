import { z } from 'zod';

/** A JSON Schema, of the dialect that OpenAPI 3.1 has. */
export type JsonSchema = Record<string, unknown>;

/** The schema of what is sent to a route, before it is checked and changed. */
export function requestSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _dialect, ...made } = z.toJSONSchema(schema, { io: 'input' });
  // zod leaves out the default of a field that it transforms: what comes of no fields at all has it.
  const defaults = z.record(z.string(), z.unknown()).safeParse(schema.safeParse({}).data).data;
  for (const [name, value] of Object.entries(defaults ?? {})) {
    const field = made.properties?.[name];
    if (typeof field === 'object') field.default = value;
  }
  return made;
}

/**
 * The schema of an answer as it goes over the wire, where a moment is ISO text and a bigint a number. Fields may be added
 * later, so none is ruled out, unless `exact` asks for that: tests hold answers against it.
 */
export function answerSchema(schema: z.ZodType, options: { exact?: boolean } = {}): JsonSchema {
  const { $schema: _dialect, ...made } = z.toJSONSchema(schema, {
    io: 'output',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      const { type } = zodSchema._zod.def;
      if (type === 'date') Object.assign(jsonSchema, { type: 'string', format: 'date-time' });
      if (type === 'bigint') jsonSchema.type = 'integer';
      if (options.exact !== true && jsonSchema.additionalProperties === false) {
        delete jsonSchema.additionalProperties;
      }
    },
  });
  return made;
}
