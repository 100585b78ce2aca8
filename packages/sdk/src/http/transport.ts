import type { RequestOptions } from '../options.ts';

/** The part of a zod schema that the transport uses; spelled out, since only wire/ knows zod. */
export interface ResponseSchema<T> {
  safeParse(value: unknown):
    | { success: true; data: T }
    | {
        success: false;
        error: { issues: readonly { path: readonly PropertyKey[]; message: string }[] };
      };
}

/** One logical request: what a resource's method asks for, whatever attempts it takes. */
export interface TransportRequest<T> {
  method: 'GET' | 'POST';
  /** From the service's root, such as `/api/v1/links`. */
  path: string;
  /** Sent as JSON. */
  body?: unknown;
  /** What a 2xx answer must look like. */
  schema: ResponseSchema<T>;
  options?: RequestOptions | undefined;
}

/** Sends requests: attempts, waits, limits and errors are its business, resources only name what they want. */
export interface Transport {
  /**
   * @throws the classes of errors/; the signal's reason when `options.signal` is aborted
   */
  request<T>(request: TransportRequest<T>): Promise<T>;
}
