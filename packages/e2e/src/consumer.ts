import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from './run-command.ts';

const SDK = fileURLToPath(new URL('../../sdk', import.meta.url));
const FIXTURES = fileURLToPath(new URL('../fixtures', import.meta.url));

/** A folder outside the workspace with the packed SDK installed, as its users have it, and the fixtures beside it. */
export interface Consumer extends AsyncDisposable {
  folder: string;
  /** The SDK's tarball. */
  tarball: string;
  /** Where npm unpacked it. */
  installed: string;
}

/**
 * Packs the built SDK and installs it with npm.
 *
 * @param others packages of the registry that the consumer installs too
 */
export async function createConsumer(...others: string[]): Promise<Consumer> {
  const folder = await mkdtemp(join(tmpdir(), 'shortlink-consumer-'));
  try {
    await runCommand('npm', ['pack', '--pack-destination', folder], { cwd: SDK });
    const name = (await readdir(folder)).find((file) => file.endsWith('.tgz'));
    if (name === undefined) throw new Error('npm pack left no tarball');
    await writeFile(join(folder, 'package.json'), '{ "private": true }\n');
    const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', `./${name}`];
    await runCommand('npm', [...install, ...others], { cwd: folder });
    await cp(FIXTURES, folder, { recursive: true });
    return {
      folder,
      tarball: join(folder, name),
      installed: join(folder, 'node_modules/@shortlink/sdk'),
      [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
    };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}
