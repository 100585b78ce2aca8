/**
 * The parts of ky that are left out of the build. `http/send.ts` makes one attempt with it: no retries, time limit, progress,
 * headers, parameters, signal or schema, no error because of a status, and always the same options. So some modules are never
 * run, and what the others return is known. A test fails when ky changes, or returns something else.
 */

/** Modules whose functions are never called, and whose errors are never made. `instanceof` may ask for these errors. */
export const NEVER_RUN = [
  'core/retry-timing.js',
  'utils/body.js',
  'utils/delay.js',
  'utils/timeout.js',
  'utils/type-guards.js',
  'errors/ForceRetryError.js',
  'errors/HTTPError.js',
  'errors/NonError.js',
  'errors/SchemaValidationError.js',
  'errors/TimeoutError.js',
];

/** The exports of such a module, each of which is nothing that could be called. */
export function emptied(source: string): string {
  const names = source.matchAll(
    /^export (const|class|function|default) ?(?:async )?(?:function )?(\w*)/gm,
  );
  return [...names]
    .map(([, kind, name]) => {
      if (kind === 'default') return 'export default 0;';
      return kind === 'class' ? `export class ${name} {}` : `export const ${name} = 0;`;
    })
    .join('\n');
}

/** Modules that are run, with what they return for these options. ky's methods and shortcuts that nobody calls are not made. */
export const KNOWN_RESULTS: Readonly<Record<string, string>> = {
  'core/constants.js': `export const
    supportsAbortController = false, supportsAbortSignal = false, supportsFormData = false,
    supportsResponseStreams = false, supportsRequestStreams = false,
    maxSafeTimeout = 0, requestMethods = [], responseTypes = {}, stop = 0, retry = 0;
    export class RetryMarker {}`,
  'utils/merge.js': `export const
    cloneShallow = 0, deepMerge = 0, deletedParametersSymbol = 0, replaceOption = 0,
    validateAndMerge = (_, options) => options,
    mergeHeaders = () => new Headers(),
    mergeHooks = () => ({ beforeRequest: [], beforeRetry: [], beforeError: [], afterResponse: [] });`,
  'utils/normalize.js': `export const
    normalizeRequestMethod = (method) => method,
    normalizeRetryOptions = () => ({ limit: 0 });`,
  'utils/options.js': `export const
    findUnknownOptions = () => ({}), hasSearchParameters = () => false;`,
};
