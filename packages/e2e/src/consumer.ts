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
    // npm would look through all that is installed for the SDK's own tests.
    const source = join(folder, 'source');
    await cp(SDK, source, { recursive: true, filter: (path) => !path.endsWith('/node_modules') });
    await runCommand('npm', ['pack', '--pack-destination', folder], { cwd: source });
    await rm(source, { recursive: true });
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

/**
 * Packs built packages of this workspace into a folder. pnpm does it, since it writes the version of the SDK into the dependencies of the others.
 *
 * @returns the paths of the tarballs
 */
export async function packPackages(folder: string, ...names: string[]): Promise<string[]> {
  const filters = names.flatMap((name) => ['--filter', `@shortlink/${name}`]);
  const pack = ['-y', 'pnpm@12', ...filters, 'pack', '--pack-destination', folder];
  await runCommand('npx', pack, { cwd: SDK });
  const files = (await readdir(folder)).filter((file) => file.endsWith('.tgz'));
  if (files.length !== names.length) throw new Error(`packed: ${files.join()}`);
  return files.map((file) => join(folder, file));
}
