import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { posix } from 'node:path';

/**
 * Throws for links of the built site to a heading that doesn't exist. VitePress itself checks only that the page exists.
 *
 * @param folder of the built site
 * @param base path of the site on its host
 */
export async function checkAnchors(folder: string, base = '/'): Promise<void> {
  const files = globSync('**/*.html', { cwd: folder });
  const pages = new Map(
    await Promise.all(
      files.map(
        async (file): Promise<[string, string]> => [
          base + file.replaceAll('\\', '/').replace(/\.html$/, ''),
          await readFile(`${folder}/${file}`, 'utf8'),
        ],
      ),
    ),
  );
  const ids = new Map(
    [...pages].map(([page, html]) => [
      page,
      new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => id)),
    ]),
  );
  const dead = [...pages].flatMap(([page, html]) =>
    [...html.matchAll(/<a\s[^>]*?href="([^"#:]*)#([^"]+)"/g)]
      .map(([, path = '', id = '']) => ({ target: path === '' ? page : resolve(page, path), id }))
      .filter(({ target, id }) => ids.get(target)?.has(decodeURIComponent(id)) !== true)
      .map(({ target, id }) => `${page}: ${target}#${id}`),
  );
  if (dead.length > 0) throw new Error(`Links to headings that are not there:\n${dead.join('\n')}`);
}

/** The page that a link leads to; a folder is its `index`. */
function resolve(page: string, path: string): string {
  const target = posix.resolve(posix.dirname(page), path).replace(/\.html$/, '');
  return path.endsWith('/') ? posix.join(target, 'index') : target;
}
