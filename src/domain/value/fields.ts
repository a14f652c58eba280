// Fields that requests and inputs share.
import * as z from 'zod';

export const name = z.string().min(1).max(200);
export const sentence = z.string().min(1).max(2000);
/** A text that people must write, and not leave blank. */
export const reason = z.string().refine((text) => text.trim() !== '', 'must not be empty');
