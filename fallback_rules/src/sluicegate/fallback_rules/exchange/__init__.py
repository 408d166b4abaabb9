"""Tables of other programs: JDM of rule editors, spreadsheets, DMN for auditors."""
