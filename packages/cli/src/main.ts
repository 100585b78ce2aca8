#!/usr/bin/env node
import { start } from './start.ts';

await start(new URL(import.meta.url));
