// What the pages do beyond Material: small, each part idle where its element is missing.
import { filterTables } from "./filter.js";
import { scrollBoxes } from "./boxes.js";
import { fourOhFour } from "./four-oh-four.js";
import { palette } from "./palette.js";
import { keepForOffline } from "./run/offline.js";
import { offerRuns } from "./run/offer.js";
import { offerSearch } from "./search/open.js";

palette();
filterTables();
scrollBoxes();
fourOhFour();
offerRuns();
offerSearch();
keepForOffline();
