import { loadPrograms } from './load-programs.ts';
import { play } from './play.ts';
import { generate } from './scenario/generate.ts';

const programs = await loadPrograms();
const count = Number(process.argv[2] ?? 100);
const only = process.argv[3];
if (only === undefined) Error.stackTraceLimit = 0;
const before = process.cpuUsage();
let imports = 0;
let failures = 0;
if (only !== undefined) {
  const played = await play(generate(Number(only)), programs, true);
  console.log(JSON.stringify(generate(Number(only))));
  console.log(played.trace.join('\n'));
  console.log(played.failure);
} else for (let seed = 1; seed <= count; seed += 1) {
  const played = await play(generate(seed), programs);
  imports += played.imports;
  if (played.failure !== undefined) {
    failures += 1;
    if (failures < 15) console.log(seed, played.failure.split('\n').slice(0, 3).join('\n'));
  }
}
const { user, system } = process.cpuUsage(before);
console.log(`${count} seeds, ${failures} failures, ${imports} imports, ${Math.round(imports / ((user + system) / 1e6))} a CPU second`);
