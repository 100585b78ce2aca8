/** The part of a zod schema that reading an answer uses; spelled out, since only wire/ knows zod. */
export interface ResponseSchema<T> {
  safeParse(value: unknown):
    | { success: true; data: T }
    | {
        success: false;
        error: { issues: readonly { path: readonly PropertyKey[]; message: string }[] };
      };
}
