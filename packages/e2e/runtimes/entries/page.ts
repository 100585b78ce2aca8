/** Runs the suite in a page; its `stage` parameter is the stage's address. Every server has another origin than the page. */
import { runSuite } from '../suite/run-suite.ts';

const stageUrl = new URL(location.href).searchParams.get('stage');
if (stageUrl === null) throw new Error('the address of the stage is missing');
// Where the browser's driver looks for it.
Object.assign(globalThis, { suite: runSuite(stageUrl) });
