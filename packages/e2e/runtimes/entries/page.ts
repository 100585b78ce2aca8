/** Runs the suite in a page whose `stage` parameter is the stage's address. No server has the page's origin. */
import { runSuite } from '../suite/run-suite.ts';
import { Stage } from '../suite/stage.ts';

const stageUrl = new URL(location.href).searchParams.get('stage');
if (stageUrl === null) throw new Error('the address of the stage is missing');
// Where the browser's driver looks for it.
Object.assign(globalThis, { suite: runSuite(new Stage(stageUrl)) });
