import { customAlphabet } from 'nanoid';
import { v7 } from 'uuid';
import { CODE_ALPHABET } from './codes.ts';

/** 57^12: unguessable enough for a name that opens nothing, short enough to type in an admin command. */
const randomPart = customAlphabet(CODE_ALPHABET, 12);

/** Id of a link or a job: a UUIDv7 (RFC 9562, section 5.7), so ids sort by creation time. */
export function newUuid(): string {
  return v7();
}

/** Id of an account, such as `acc_7hVmWq2RkPzN`. The prefix tells a person which kind of id was pasted. */
export function newAccountId(): string {
  return `acc_${randomPart()}`;
}

/** Id of an API key: what admin commands name it by; it isn't the key itself. */
export function newKeyId(): string {
  return `key_${randomPart()}`;
}

/** Id of a custom domain: what a request gives as `domain_id`. */
export function newDomainId(): string {
  return `dom_${randomPart()}`;
}
