export * as x from './wire/index.ts';
