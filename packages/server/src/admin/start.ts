import type { Command } from 'commander';
import { type RawSettings, readSettings } from '../config.ts';
import type { CommandContext } from './context.ts';

interface Options extends RawSettings {
  dev?: boolean;
}

export function registerStart(parent: Command, context: CommandContext): void {
  parent
    .command('start')
    .description('serve until SIGTERM or SIGINT')
    .option('--host <host>', 'address to listen on (default: 127.0.0.1) [SHORTLINK_HOST]')
    .option('--port <port>', 'port, 0 for a free one (default: 8787) [SHORTLINK_PORT]')
    .option('--database <url>', 'default: sqlite:./shortlink.db [SHORTLINK_DATABASE_URL]')
    .option(
      '--public-url <url>',
      'origin of short URLs, such as https://sho.rt [SHORTLINK_PUBLIC_URL]',
    )
    .option('--log-level <level>', 'default: info [SHORTLINK_LOG_LEVEL]')
    .option('--dev', 'on an empty database, make an account without limits and print its key')
    .action(async (options: Options) => {
      await context.start(readSettings(options, context.env), { dev: options.dev ?? false });
    });
}
