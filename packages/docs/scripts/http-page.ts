import document from '../../server/api/openapi.json' with { type: 'json' };
import { runExamples } from './http-examples.ts';
import { anchor, code, shown, table } from './markdown.ts';

/** A node of the API description: an object with any fields. */
type Node = { readonly [field: string]: unknown };

const DOCUMENT: Node = document;
const COMPONENTS = node(DOCUMENT['components']);
const METHODS = ['get', 'head', 'post'];

/** The page of the HTTP API, from the document that the server sends as `/openapi.json`. */
export async function httpPage(): Promise<string> {
  const { byOperation, byStatus } = await runExamples();
  const operations = Object.entries(node(DOCUMENT['paths'])).flatMap(([path, item]) =>
    METHODS.filter((method) => method in node(item)).map((method) => ({
      path,
      method: method.toUpperCase(),
      operation: node(node(item)[method]),
      shared: list(node(item)['parameters']),
    })),
  );
  const sections = list(DOCUMENT['tags']).flatMap((tag) => {
    const own = operations.filter(({ operation }) =>
      list<unknown>(operation['tags']).includes(tag['name']),
    );
    return [
      `## ${title(text(tag['name']))}`,
      shown(text(tag['description'])),
      ...own.map((operation) =>
        operationSection(operation, byOperation[`${operation.method} ${operation.path}`]),
      ),
    ];
  });
  const schemas = Object.entries(node(COMPONENTS['schemas'])).map(schemaSection);
  return [
    '# HTTP API',
    text(node(DOCUMENT['info'])['description']),
    'A running server sends this description as an OpenAPI 3.1 document at `GET /openapi.json`, and the package has it as `@shortlink/server/openapi.json`. Every request below `/api/v1` carries the header `X-Api-Key`.',
    ...sections,
    errorSection(byStatus),
    '## Schemas',
    ...schemas,
  ].join('\n\n');
}

interface Operation {
  path: string;
  method: string;
  operation: Node;
  shared: readonly Node[];
}

function operationSection(
  { path, method, operation, shared }: Operation,
  example: Examples['byOperation'][string] | undefined,
): string {
  const body = node(operation['requestBody']);
  const parameters = [...shared, ...list(operation['parameters'])].map(resolve);
  const responses = Object.entries(node(operation['responses']));
  // An error that every endpoint may respond with is described once, at the end.
  const [own, common] = [false, true].map((isCommon) =>
    responses.filter(([, response]) => '$ref' in node(response) === isCommon),
  ) as [typeof responses, typeof responses];
  return [
    `### ${method} ${shown(path)} {#${anchor(`${method} ${path}`)}}`,
    `${shown(text(operation['summary']))}. ${text(operation['description'])}`,
    ...(parameters.length === 0
      ? []
      : [
          table(
            ['parameter', 'in', 'meaning'],
            parameters.map((parameter) => [
              code(text(parameter['name'])),
              text(parameter['in']) + (parameter['required'] === true ? ', required' : ''),
              shown(text(parameter['description'])),
            ]),
          ),
        ]),
    ...('content' in body ? [`Request body: ${bodyOf(node(body['content']))}.`] : []),
    ...(example === undefined ? [] : [exampleBlocks(example)]),
    responseTable(own),
    ...(common.length === 0
      ? []
      : [`Errors: ${common.map(([status]) => `[${status}](#errors)`).join(', ')}.`]),
  ].join('\n\n');
}

/** The same request as a command and as a call, and the response to it. */
function exampleBlocks(example: Examples['byOperation'][string]): string {
  const { curl, typescript, status, json, location } = example;
  const command = `\`\`\`sh [curl]\n${curl}\n\`\`\``;
  const both = `::: code-group\n\n${command}\n\n\`\`\`ts [TypeScript]\n${typescript}\n\`\`\`\n\n:::`;
  const request = typescript === undefined ? command.replace(' [curl]', '') : both;
  const headers = location === undefined ? '' : `, with \`Location: ${location}\``;
  const language = json?.startsWith('{') ? 'json' : 'txt';
  const body = json === undefined ? '.' : `:\n\n\`\`\`${language}\n${json}\n\`\`\``;
  return `${request}\n\n${status}${headers}${body}`;
}

function responseTable(responses: readonly (readonly [string, unknown])[]): string {
  const rows = responses.map(([status, response]) => {
    const { description, headers, content } = resolve(node(response));
    const names = Object.keys(node(headers)).filter((name) => name !== 'X-Request-Id');
    return [status, shown(text(description)), bodyOf(node(content)), names.map(code).join(' ')];
  });
  return table(['status', 'meaning', 'body', 'headers'], rows);
}

/** Every error that several endpoints respond with, once, and an example of each that a caller can cause. */
function errorSection(examples: Examples['byStatus']): string {
  const shared = new Map<string, Node>();
  for (const item of Object.values(node(DOCUMENT['paths']))) {
    for (const method of METHODS.filter((name) => name in node(item))) {
      for (const [status, response] of Object.entries(
        node(node(node(item)[method])['responses']),
      )) {
        const { $ref: reference } = node(response);
        if (typeof reference === 'string') shared.set(`${status} ${reference}`, node(response));
      }
    }
  }
  const rows = [...shared].map(([name, response]) => [name.split(' ')[0] ?? '', response] as const);
  const blocks = Object.entries(examples).map(
    ([status, { curl, json }]) =>
      `### ${status} {#error-${anchor(status)}}\n\n\`\`\`sh\n${curl}\n\`\`\`\n\n\`\`\`json\n${json}\n\`\`\``,
  );
  return [
    '## Errors',
    'Every error has `error`, a sentence for people, and `code`, a word for programs. Clients wait as `Retry-After` says.',
    responseTable(rows.toSorted(([a], [b]) => Number(a) - Number(b))),
    ...blocks,
  ].join('\n\n');
}

type Examples = Awaited<ReturnType<typeof runExamples>>;

/** The contents of a body: links to its schemas, or its media type. */
function bodyOf(content: Node): string {
  return Object.entries(content)
    .map(([type, media]) =>
      type === 'application/json' ? typeOf(node(node(media)['schema'])) : code(type),
    )
    .join(', ');
}

function schemaSection([name, value]: [string, unknown]): string {
  const schema = node(value);
  const parts = list(schema['allOf']);
  const description = [schema, ...parts].map((part) => text(part['description'])).join('');
  const fields = parts.length > 0 ? parts.flatMap((part) => fieldRows(part)) : fieldRows(schema);
  const base = parts.filter((part) => '$ref' in part).map(typeOf);
  return [
    `### ${name} {#${schemaAnchor(name)}}`,
    ...(description === '' ? [] : [shown(description)]),
    ...(base.length === 0 ? [] : [`As ${base.join(', ')}, and:`]),
    ...(fields.length === 0 ? [] : [table(['field', 'type', 'meaning'], fields)]),
  ].join('\n\n');
}

function fieldRows(schema: Node, prefix = ''): string[][] {
  const required = new Set(list<string>(schema['required']));
  return Object.entries(node(schema['properties'])).flatMap(([name, value]) => {
    const field = node(value);
    const isNested = 'properties' in field || 'properties' in node(field['items']);
    const nested = 'items' in field ? node(field['items']) : field;
    const path = `${prefix}${name}${'items' in field ? '[]' : ''}`;
    return [
      [
        code(path),
        typeOf(field),
        [required.has(name) ? 'required' : '', shown(text(field['description'])), ...rules(field)]
          .filter((part) => part !== '')
          .join('; '),
      ],
      ...(isNested ? fieldRows(nested, `${path}.`) : []),
    ];
  });
}

/** The rules of a schema other than its type. */
function rules(schema: Node): string[] {
  const words: Record<string, string> = {
    minimum: 'at least',
    maximum: 'at most',
    minLength: 'characters at least',
    maxLength: 'characters at most',
    minItems: 'items at least',
    maxItems: 'items at most',
    pattern: 'matches',
    default: 'default',
    const: 'always',
  };
  // The largest safe integer stands for no bound.
  return Object.entries(words)
    .filter(([word]) => word in schema && schema[word] !== Number.MAX_SAFE_INTEGER)
    .map(([word, label]) => `${label} ${code(String(schema[word]))}`);
}

function typeOf(schema: Node): string {
  const { $ref: reference, enum: values, oneOf, anyOf, items, format, type } = schema;
  if (typeof reference === 'string') {
    const name = reference.split('/').at(-1) ?? '';
    return `[${name}](#${schemaAnchor(name)})`;
  }
  if (Array.isArray(values)) return values.map((value) => code(String(value))).join(', ');
  const choices = list(oneOf ?? anyOf);
  if (choices.length > 0) return choices.map(typeOf).join(' or ');
  if (items !== undefined) return `array of ${typeOf(node(items))}`;
  return [text(type), text(format)].filter((part) => part !== '').join(', ');
}

/** A schema and a group of endpoints may have the same name. */
function schemaAnchor(name: string): string {
  return `schema-${anchor(name)}`;
}

function resolve(value: Node): Node {
  const { $ref: reference } = value;
  if (typeof reference !== 'string') return value;
  return reference
    .split('/')
    .slice(1)
    .reduce((at, name) => node(at[name]), DOCUMENT);
}

function title(word: string): string {
  return `${word[0]?.toUpperCase()}${word.slice(1)}`;
}

function node(value: unknown): Node {
  return typeof value === 'object' && value !== null ? (value as Node) : {};
}

function list<T = Node>(value: unknown): readonly T[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
