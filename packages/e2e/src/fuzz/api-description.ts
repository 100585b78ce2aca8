import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

/** The parts of an OpenAPI document that are read here. */
export interface Schema {
  $ref?: string;
  type?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
}
export interface Parameter {
  name: string;
  in: 'path' | 'header';
}
interface ResponseObject {
  headers?: Record<string, { schema: Schema; required?: boolean }>;
  content?: Record<string, { schema: Schema }>;
}

/** One documented method of one path. */
export interface Operation {
  method: string;
  path: string;
  parameters: Parameter[];
  /** Schema of the JSON body, where one is taken. */
  body: Schema | undefined;
  /** By status. */
  responses: Record<string, ResponseObject>;
}

/** An API description with its references followed. */
export class ApiDescription {
  readonly #document: Record<string, unknown>;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });
  readonly #validators = new Map<unknown, ValidateFunction>();

  constructor(document: Record<string, unknown>) {
    this.#document = document;
    formats['default'](this.#ajv);
    this.#ajv.addSchema({ ...document, $id: 'openapi.json' });
  }

  operations(): Operation[] {
    return entriesOf(this.#document['paths']).flatMap(([path, item]) =>
      entriesOf(item)
        .filter(([method]) => method !== 'parameters')
        .map(([method, operation]) => this.#operation(method, path, item, operation)),
    );
  }

  #operation(method: string, path: string, item: object, operation: object): Operation {
    const own = Object(operation);
    const parameters: unknown[] = [...(Object(item).parameters ?? []), ...(own.parameters ?? [])];
    const responses = entriesOf(own.responses).map(([status, response]) => {
      const followed = Object(this.follow(response));
      const headers = entriesOf(followed.headers).map(([name, header]) => [
        name,
        this.follow(header),
      ]);
      return [status, { ...followed, headers: Object.fromEntries(headers) }];
    });
    return {
      method: method.toUpperCase(),
      path,
      parameters: parameters.map((parameter) => this.follow(parameter) as Parameter),
      body: own.requestBody?.content['application/json'].schema,
      responses: Object.fromEntries(responses),
    };
  }

  /** The target of a reference. Any other value is returned unchanged. */
  follow<T>(value: T): T {
    const reference = Object(value).$ref;
    if (typeof reference !== 'string') return value;
    const found = reference
      .slice(2)
      .split('/')
      .reduce((at, part) => Object(at)[part], this.#document as unknown);
    if (found === undefined) throw new Error(`${reference} leads nowhere`);
    return found as T;
  }

  /** The differences between a value and its schema; empty when it matches. */
  mismatches(schema: Schema, value: unknown): string[] {
    let validate = this.#validators.get(schema);
    if (validate === undefined) {
      // Its references point into the document, so it is compiled as a part of the document.
      validate = this.#ajv.compile(
        JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi.json#/')),
      );
      this.#validators.set(schema, validate);
    }
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  }
}

function entriesOf(value: unknown): [string, object][] {
  return Object.entries(Object(value)).map(([key, inner]) => [key, Object(inner)]);
}
