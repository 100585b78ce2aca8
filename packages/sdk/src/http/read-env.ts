/**
 * An environment variable, or undefined where the runtime has none, the variable is not set or empty, or reading it is
 * not allowed (Deno without `--allow-env`).
 */
export function readEnv(name: string): string | undefined {
  try {
    const scope: typeof globalThis & {
      process?: { env?: Record<string, string | undefined> };
    } = globalThis;
    return scope.process?.env?.[name] || undefined;
  } catch {
    return undefined;
  }
}
