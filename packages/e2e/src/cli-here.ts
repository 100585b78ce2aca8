import { type CliResult, cli } from '../../cli/test/test-io.ts';
import type { World } from './world.ts';

/** Runs `shortlink` in this process, which is enough for what only prepares a test. Files are named by their whole path. */
export function cliHere(
  { server, folder }: World,
  key: string,
  args: readonly string[],
): Promise<CliResult> {
  const env = { SHORTLINK_API_KEY: key, SHORTLINK_BASE_URL: server.url, CI: '1' };
  return cli(args, { env, home: folder });
}
