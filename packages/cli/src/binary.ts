// The entry point of the single-file program, which is Node with this code inside. No files are beside it, so a thread is started
// from the same code, which the build adds as an asset.
import { getAsset } from 'node:sea';
import { start } from './start.ts';

void start(() => getAsset('program', 'utf8'));
