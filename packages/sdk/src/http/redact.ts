/** Replaces a secret wherever it stands in a text. */
export type Redact = (text: string) => string;

/** Removes one secret; what came from the network goes through it before it may reach an error or a log line. */
export function createRedact(secret: string): Redact {
  return (text) => text.replaceAll(secret, '[API key]');
}
