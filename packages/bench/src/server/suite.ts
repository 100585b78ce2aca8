import type { Suite } from '../frame/section.ts';
export const suite: Suite = {};
