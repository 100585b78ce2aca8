import type { Command } from 'commander';
import { type CommandContext, databaseCommand, examples, print, settingsOf } from './command.ts';

export function registerDatabase(program: Command, context: CommandContext): void {
  // Every command migrates when it opens the database; this one does nothing else, and prints the versions.
  examples(
    databaseCommand(program, 'migrate', 'bring the database up to the version of this program'),
    'migrate',
  ).action(async (_, command: Command) => {
    const report = await context.migrate(settingsOf(context, command));
    print(context, command, { json: report });
  });
  examples(
    databaseCommand(
      program,
      'backup <file>',
      'copy the SQLite database into a new file, while the server runs',
    ),
    'backup /backups/2027-01-31.db',
  ).action(async (file: string, _, command: Command) => {
    await context.backup(settingsOf(context, command), file);
    print(context, command, { json: { file } });
  });
}
