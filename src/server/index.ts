export { Driver } from "./driver.ts";
