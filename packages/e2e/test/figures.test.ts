import { expect, test } from 'vitest';
import { printDocuments, readFigures } from '../../bench/src/frame/figures.ts';

test('the figures of the documents are those that were recorded: pnpm figures', async () => {
  for (const { printed, committed } of await printDocuments(await readFigures())) {
    expect(committed).toBe(printed);
  }
});

test('another measurement changes the tables that show it', async () => {
  const figures = await readFigures();
  const { million } = figures.sizing;
  const [section] = figures.cli;
  if (section === undefined) throw new Error('no section of the command is recorded');
  const [readme, sizing] = await printDocuments({
    ...figures,
    cli: [{ ...section, rows: [{ name: 'measured again', figures: {} }] }],
    sizing: { ...figures.sizing, million: { ...million, bytes: { table: 300, index: 100 } } },
  });
  expect(readme?.printed).toContain('| measured again |');
  expect(sizing?.printed).toContain('300 bytes, and 100 bytes of index');
});

test('what a busy machine has recorded is not shown', async () => {
  const figures = await readFigures();
  const [section] = figures.cli;
  if (section === undefined) throw new Error('no section of the command is recorded');
  const machine = { ...section.machine, cores: 2, loadAverage: 4.1 };
  const [readme] = await printDocuments({ ...figures, cli: [{ ...section, machine }] });
  expect(readme?.printed).not.toContain(section.title);
});
