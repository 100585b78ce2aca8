/**
 * Writes the pages of `reference/` from the code: `pnpm --filter @shortlink/docs reference`. They are never edited and not kept in
 * the repository.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import {
  Application,
  Converter,
  DeclarationReflection,
  type ProjectReflection,
  type Reflection,
  type ReflectionGroup,
  ReflectionKind,
  type TypeDocOptions,
} from 'typedoc';
import type { PluginOptions } from 'typedoc-plugin-markdown';
import { SDK_TOPICS } from '../.vitepress/sidebar.ts';
import { changesPage } from './changes-page.ts';
import { cliPage, serverPage } from './command-pages.ts';
import { httpPage } from './http-page.ts';
import { sizePage } from './size-page.ts';
import { errorCodesPage, exitCodesPage, plansPage, settingsPage } from './table-pages.ts';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const FOLDER = path('../reference/');

const PAGES: Record<string, () => string | Promise<string>> = {
  cli: cliPage,
  server: serverPage,
  settings: settingsPage,
  'http-api': httpPage,
  plans: plansPage,
  'error-codes': errorCodesPage,
  'exit-codes': exitCodesPage,
  size: sizePage,
  changes: changesPage,
};

/** The entry points of the libraries: each becomes a page. That of the client has one for each topic. */
const LIBRARIES = [
  ...SDK_TOPICS.map((topic) => `../topics/${topic}.ts`),
  '../../sdk/src/wire/index.ts',
  '../../server/src/index.ts',
  '../../server/src/testing/index.ts',
  '../../server/src/testing/msw.ts',
  '../../server/src/browser/index.ts',
].map(path);

/** What programs meet first, in that order; all else follows by its kind and name. */
const FIRST = [
  'Shortlink',
  'Links',
  'LinkInput',
  'Link',
  'Jobs',
  'Job',
  'CreateManyOptions',
  'BulkItem',
  'UsageResource',
  'Usage',
  'ShortlinkOptions',
  'RequestOptions',
  'ShortlinkHooks',
  'isOutcomeUnknown',
  'ShortlinkError',
  'startTestServer',
  'createMswHandlers',
  'startPageService',
];

/** Priorities among TypeDoc's own steps: after the one that finds inherited members, and on both sides of the one that groups members. */
const BEFORE_GROUPS = -50;
const AFTER_GROUPS = -150;

await rm(FOLDER, { recursive: true, force: true });
await mkdir(FOLDER, { recursive: true });
for (const [name, page] of Object.entries(PAGES)) {
  await writeFile(`${FOLDER}${name}.md`, `${await page()}\n`);
}
await writeLibraries();

/** TypeDoc reads all libraries in one run, which takes half of the time of several runs. */
async function writeLibraries(): Promise<void> {
  const options: TypeDocOptions & PluginOptions = {
    plugin: ['typedoc-plugin-markdown'],
    entryPoints: LIBRARIES,
    tsconfig: path('../tsconfig.reference.json'),
    // Types are checked by `pnpm typecheck`.
    skipErrorChecking: true,
    readme: 'none',
    router: 'module',
    entryFileName: 'index',
    name: 'Libraries',
    disableSources: true,
    excludeInternal: true,
    excludePrivate: true,
    excludeExternals: true,
    logLevel: 'Warn',
    hidePageHeader: true,
    hideBreadcrumbs: true,
    parametersFormat: 'table',
    interfacePropertiesFormat: 'table',
    classPropertiesFormat: 'table',
    typeDeclarationFormat: 'table',
    useCodeBlocks: true,
    pageTitleTemplates: { module: ({ name }) => name.replace(/^sdk\//, '@shortlink/sdk: ') },
    sanitizeComments: true,
    outputs: [{ name: 'markdown', path: `${FOLDER}library` }],
  };
  const app = await Application.bootstrapWithPlugins(options);
  app.converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => leaveOut(project), BEFORE_GROUPS);
  app.converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => sort(project), AFTER_GROUPS);
  const project = await app.convert();
  if (project === undefined) throw new Error('TypeDoc can read no library.');
  // `sdk/src/wire` is imported as `@shortlink/sdk/wire`.
  for (const library of project.children ?? []) {
    if (!library.name.startsWith('sdk/') || library.name.includes('/src'))
      library.name = `@shortlink/${library.name.replace('/src', '')}`;
  }
  await app.generateOutputs(project);
}

/** Leaves out inherited members, which the base class describes, and of errors the constructor, which only the client calls, and `kind`, `name` and `toJSON`. */
function leaveOut(project: ProjectReflection): void {
  for (const member of project.getReflectionsByKind(ReflectionKind.ClassMember)) {
    if (!(member instanceof DeclarationReflection)) continue;
    const isOfError = member.parent?.name.endsWith('Error') === true;
    const isUnused = isOfError && ['constructor', 'kind', 'name', 'toJSON'].includes(member.name);
    const isField = isData(member.parent);
    if (isUnused || (member.inheritedFrom !== undefined && !isField)) {
      project.removeReflection(member);
    } else if (isField) {
      delete member.inheritedFrom;
      delete member.defaultValue;
    }
  }
  for (const shape of project.getReflectionsByKind(ReflectionKind.Interface).filter(isData)) {
    delete shape.extendedTypes;
    delete shape.typeHierarchy;
  }
}

/** On each page, what a program meets first comes first. */
function sort(project: ProjectReflection): void {
  const place = ({ name }: { name: string }) => {
    const index = FIRST.indexOf(name);
    return index === -1 ? FIRST.length : index;
  };
  for (const { groups = [] } of project.children ?? []) {
    for (const group of groups) group.children.sort((a, b) => place(a) - place(b));
    // What a module only passes on is described elsewhere.
    const best = ({ title, children }: ReflectionGroup) =>
      title === 'References' ? FIRST.length : Math.min(...children.map(place));
    groups.sort((a, b) => best(a) - best(b));
  }
}

/** Whether the interface is the data of a response: its members follow from what reads them, and are described nowhere else. */
function isData(reflection: Reflection | undefined): reflection is DeclarationReflection {
  const bases = reflection instanceof DeclarationReflection ? (reflection.extendedTypes ?? []) : [];
  return bases.some((base) => base.type === 'reference' && base.name.endsWith('Data'));
}
