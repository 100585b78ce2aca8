import { readFileSync } from 'node:fs';
import ts from 'typescript';
import { createApiError } from '../../sdk/src/errors/api-errors.ts';
import { ERROR_CODES, PLAN_LIMITS, PLANS } from '../../sdk/src/wire/index.ts';
import * as problems from '../../server/src/domain/problem.ts';
import { FLAGS, SETTINGS } from '../../server/src/settings.ts';
import { code, shown, table } from './markdown.ts';

/** A page of one wide table needs no list of its headings beside it. */
const WIDE = '---\naside: false\n---\n\n';

/** Every setting of the server, from what it declares. */
export function settingsPage(): string {
  const rows = Object.values(SETTINGS).map(({ option, accepts }) => {
    const flag = FLAGS.includes(option) ? code(option.long ?? '') : '';
    const [, description = '', ownDefault] =
      /^(.*?)(?: \(default: (.*)\))?$/.exec(option.description) ?? [];
    const value: unknown = option.defaultValue;
    const fallback = value === undefined ? shown(ownDefault ?? '') : code(String(value));
    return [
      [code(option.envVar ?? ''), flag].filter(Boolean).join('<br>'),
      shown(description),
      fallback,
      shown(accepts),
    ];
  });
  return `${WIDE}# Settings of the server

Every setting is a flag of \`shortlink-server start\`, an environment variable, or both.

A flag wins over the environment variable. Each variable also exists with \`_FILE\` at its end and then names a file that holds the value, such as \`SHORTLINK_DATABASE_URL_FILE=/run/secrets/database\`; a line end after the value is dropped, and setting both is an error. A value that can't be used stops the program with one line that names the setting, without its secrets, and exit code 2. Settings that hold secrets have no flag, because other users of the machine can read a command line.

${table(['setting', 'what it is', 'default', 'what is accepted'], rows)}`;
}

/** Every plan with its limits. */
export function plansPage(): string {
  const words = {
    requests_per_minute: 'requests per minute',
    requests_per_day: 'requests per day (UTC)',
    requests_per_month: 'requests per calendar month (UTC)',
    links: 'short links in total',
    api_keys: 'API keys',
    batch_size: 'links in one batch',
  } satisfies Record<keyof (typeof PLAN_LIMITS)['custom'], string>;
  const title = (plan: string) => plan[0]?.toUpperCase() + plan.slice(1);
  const rows = Object.entries(words).map(([name, text]) => [
    text,
    ...PLANS.map((plan) => {
      const limit: number | null | undefined = Object.entries(PLAN_LIMITS[plan]).find(
        ([limitName]) => limitName === name,
      )?.[1];
      return limit?.toLocaleString('en') ?? 'unlimited';
    }),
  ]);
  return `# Plans and limits

Limits belong to the account, over all its keys. Windows are fixed and in UTC: the minute, the day, the calendar month. A request that a window refuses, and one that gets 401, counts nowhere; polls of jobs count, and so does a request that is refused because its caller sends too much at once, or too slowly.

${table(['limit', ...PLANS.map(title)], rows)}

Custom is what an account starts from when it is made without \`--limit\`; each of its limits can be set on its own, or be \`unlimited\`.`;
}

/** One error of each kind, made by the functions that the server uses. */
const SAMPLES: readonly problems.Problem[] = [
  problems.invalidInput([{ field: 'target_url', message: 'target_url is required.' }]),
  problems.invalidInput([
    { index: 7, field: 'target_url', message: 'target_url is not an absolute URL.' },
  ]),
  problems.unauthorized('The API key is invalid.'),
  problems.forbidden(['shortlinks:write']),
  problems.accountDisabled(),
  problems.notFound('Job'),
  problems.methodNotAllowed('PUT', ['POST']),
  problems.gone(),
  problems.payloadTooLarge(256 * 1024),
  problems.unsupportedMediaType(),
  problems.rateLimited({ name: 'minute', limit: 15, endsAt: 12_000 }, 0),
  problems.planLimitReached({ limit: 'links', used: 15, allowed: 15 }),
  problems.idempotencyConflict(),
  problems.idempotencyInProgress(),
  problems.unavailable(),
  problems.internal('8cf0a6c1'),
];

/** Every error code with its status, an example of its message, and the client's error class. */
export function errorCodesPage(): string {
  const missing = ERROR_CODES.filter((word) => !SAMPLES.some((problem) => problem.code === word));
  if (missing.length > 0) throw new Error(`There is no sample of ${missing.join(', ')}.`);
  const rows = SAMPLES.map(({ status, code: word, body, headers, message }) => {
    const error = createApiError({ status, body, headers: new Headers(headers), message });
    const { upgrade, limit, details } = body;
    const extras = Object.entries({ upgrade, limit, details }).filter(([, v]) => v !== undefined);
    const sent = [
      ...extras.map(([name]) => code(name)),
      ...Object.keys(headers).map((name) => code(name)),
    ];
    return [String(status), code(word), shown(message), sent.join(' '), code(error.name)];
  });
  return `${WIDE}# Error codes

Every error of the service has a status and a code.

An error body is JSON with \`error\`, a message for people, and \`code\`, a stable word for programs: \`{"error": "…", "code": "rate_limited"}\`. A plan limit also has \`upgrade\`, \`limit\`, \`used\` and \`allowed\`; a body that breaks a rule has \`details\`, up to 100 of \`{index, field, message}\`. The last column is the class that the SDK throws.

${table(['status', 'code', 'example of a message', 'also sent', 'SDK'], rows)}`;
}

/** The exit codes of both programs, from the comments at their declarations. */
export function exitCodesPage(): string {
  const rows = (file: string, name: string) =>
    propertiesOf(file, name).map(({ value, comment }) => [code(value), shown(comment)]);
  return `# Exit codes

Scripts may rely on the exit codes: a code never changes its meaning.

## shortlink

${table(['code', 'meaning'], rows('../../cli/src/cli-error.ts', 'EXIT_CODES'))}

Of an import of several files: the code of the file that ended early; otherwise 8 wins over 7, 7 over 3, and 3 over 0.

## shortlink-server

${table(['code', 'meaning'], rows('../../server/src/admin/command.ts', 'EXIT'))}`;
}

/** The properties of an object that a file declares, each with its doc comment. */
function propertiesOf(path: string, name: string): { value: string; comment: string }[] {
  const file = ts.createSourceFile(
    path,
    readFileSync(new URL(path, import.meta.url), 'utf8'),
    ts.ScriptTarget.Latest,
    true,
  );
  const declarations = file.statements
    .filter((statement) => ts.isVariableStatement(statement))
    .flatMap((statement) => [...statement.declarationList.declarations]);
  const object = declarations.find((declaration) => declaration.name.getText(file) === name);
  const initializer = object?.initializer;
  const literal =
    initializer && ts.isAsExpression(initializer) ? initializer.expression : initializer;
  if (literal === undefined || !ts.isObjectLiteralExpression(literal)) {
    throw new Error(`${path} declares no object ${name}.`);
  }
  return literal.properties.filter(ts.isPropertyAssignment).map((property) => {
    const [comment] = ts.getJSDocCommentsAndTags(property);
    return {
      value: property.initializer.getText(file),
      comment:
        comment === undefined
          ? 'Everything that was asked for is done.'
          : (ts.getTextOfJSDocComment(comment.comment) ?? ''),
    };
  });
}
