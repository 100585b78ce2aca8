/** Runs the suite in a runtime with a command line: Node, Bun, Deno. The one argument is the stage's address. */
import { runSuite } from '../suite/run-suite.ts';

const [stageUrl] = process.argv.slice(2);
if (stageUrl === undefined) throw new Error('the address of the stage is missing');
await runSuite(stageUrl);
