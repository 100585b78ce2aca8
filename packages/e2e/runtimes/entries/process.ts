/** Runs the suite in a runtime with a command line: Node, Bun, Deno. The one argument is the stage's address. */
import { runSuite } from '../suite/run-suite.ts';
import { Stage } from '../suite/stage.ts';

const [stageUrl] = process.argv.slice(2);
if (stageUrl === undefined) throw new Error('the address of the stage is missing');
await runSuite(new Stage(stageUrl));
