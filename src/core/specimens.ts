/**
 * The last of the objects that are made by the thousands and gone soon, by what they are. Whoever makes them keeps one.
 *
 * V8 throws away the code that it compiled for objects of a form when it collects the last of that form. After a pause of
 * some seconds that was most of the code that decides, gives out and ends tasks: the next thousands of tasks took
 * twice as long.
 */
export type Specimens<Name extends string> = { [name in Name]?: object };
