export { Driver, type DriverOptions } from "./driver.ts";
