import { hash } from 'node:crypto';
import type { Permission } from '@shortlink/sdk/wire';
import { customAlphabet } from 'nanoid';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** 36 characters of 62 are 214 bits: no key can be guessed, so a fast hash is enough to store it. */
const RANDOM_LENGTH = 36;

const randomBase62 = customAlphabet(BASE62, RANDOM_LENGTH);

/** A new API key. The prefix lets secret scanners and people recognise it. */
export const generateApiKey = () => `sl_${randomBase62()}`;

export const hashApiKey = (key: string): Uint8Array => hash('sha256', key, 'buffer');

export const DEFAULT_PERMISSIONS: readonly Permission[] = ['shortlinks:write'];
